// Half precision numbers: 1 bit of sign, 5 of exponent, 10 of fraction, as IEEE 754 has them.
export const fromHalf = (bits) => {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
};

// Weights are 0 to 1, so a table of the first 0x3c01 patterns answers nearly every question.
const TABLE = Float32Array.from({ length: 0x3c01 }, (_, bits) => fromHalf(bits));

export const floatsOf = (buffer) => {
  const halves = new DataView(buffer);
  const found = new Float32Array(buffer.byteLength / 2);
  for (let i = 0; i < found.length; i += 1) {
    const bits = halves.getUint16(2 * i, true);
    found[i] = bits < TABLE.length ? TABLE[bits] : fromHalf(bits);
  }
  return found;
};
