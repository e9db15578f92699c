// What is shown as one line of text: tokens, or words made of tokens; special tokens or not.

// [{label, tokens, special, segment}] for one side of a pass.
export const unitsOf = (side, level, special) => {
  const found = [];
  const place = new Map();
  side.tokens.forEach((label, i) => {
    if (side.special[i] && !special) return;
    const key = level === "words" ? side.units[i] : i;
    if (place.has(key)) {
      const unit = found[place.get(key)];
      unit.tokens.push(i);
      unit.label += label;
      return;
    }
    place.set(key, found.length);
    const piece = level === "tokens" && i > 0 && !side.special[i] && side.units[i] === side.units[i - 1];
    found.push({ label, tokens: [i], special: Boolean(side.special[i]), segment: side.segments[i], piece });
  });
  return found;
};

// To a split word the weights of its tokens are summed; from a split word they are averaged
// (Clark et al. 2019, §4.1). `rowAt(token)` is a token's row, or undefined if it is not here yet.
export const unitRow = (query, keys, rowAt) => {
  const rows = query.tokens.map(rowAt);
  if (rows.some((row) => row === undefined)) return undefined;
  const found = new Float32Array(keys.length);
  for (const row of rows) {
    keys.forEach((key, j) => {
      for (const token of key.tokens) found[j] += row[token];
    });
  }
  for (let j = 0; j < found.length; j += 1) found[j] /= rows.length;
  return found;
};

export const strongest = (row, n) =>
  Array.from(row, (weight, i) => [weight, i]).sort((a, b) => b[0] - a[0] || a[1] - b[1]).slice(0, n).filter(([weight]) => weight > 0);
