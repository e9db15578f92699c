// Where maps come from in a notebook: out of the page itself, in half precision.
import { floatsOf } from "./half.js";

const SMALL = 32;

const bytesOf = (text) => Uint8Array.from(atob(text), (character) => character.charCodeAt(0)).buffer;

// How much of a token lies in a cell, as in `explorer/live/maps.py`.
const shares = (n, size) => {
  const cells = Math.min(n, size);
  return Array.from({ length: cells }, (_, cell) => {
    const found = [];
    const [low, high] = [(cell * n) / cells, ((cell + 1) * n) / cells];
    for (let token = Math.floor(low); token < Math.min(n, Math.ceil(high)); token += 1) {
      const share = Math.min(token + 1, high) - Math.max(token, low);
      if (share > 1e-9) found.push([token, share]);
    }
    return found;
  });
};

export const savedSource = (saved) => {
  const unpacked = new Map();
  const mapOf = (pass, stack, layer) => {
    const key = `${pass.key} ${stack} ${layer}`;
    if (!unpacked.has(key)) unpacked.set(key, floatsOf(bytesOf(saved.maps[pass.key][stack][layer])));
    return unpacked.get(key);
  };
  const sizes = (pass, name) => {
    const stack = saved.model.stacks.find((one) => one.stack === name);
    return [stack, pass[stack.queries].tokens.length, pass[stack.keys].tokens.length];
  };
  return {
    fixed: true,
    model: async () => saved.model,
    read: async (asked) => ({ ...(asked.edits.length ? saved.after : saved.before), asked }),
    rows: async (pass, id, first, last) => {
      const [, name, layer, head] = /^(?:(\w+):)?(\d+)-(\d+)$/.exec(id);
      const [stack, queries, keys] = sizes(pass, name || "self");
      const from = (Number(head) - 1) * queries * keys;
      const data = mapOf(pass, stack.stack, Number(layer) - 1).subarray(from + first * keys, from + last * keys);
      return { queries, keys, first, last, data };
    },
    pictures: async (pass, name, layer) => {
      const [stack, queries, keys] = sizes(pass, name);
      const maps = mapOf(pass, name, layer - 1);
      const [rows, columns] = [shares(queries, SMALL), shares(keys, SMALL)];
      const heads = stack.n_heads[layer - 1];
      const data = new Uint8Array(heads * rows.length * columns.length);
      let i = 0;
      for (let head = 0; head < heads; head += 1) {
        for (const row of rows) {
          const whole = row.reduce((sum, [, share]) => sum + share, 0);
          for (const column of columns) {
            let sum = 0;
            for (const [q, share] of row) for (const [k, part] of column) sum += (share / whole) * part * maps[(head * queries + q) * keys + k];
            data[i] = Math.round(255 * Math.sqrt(Math.min(1, sum)));
            i += 1;
          }
        }
      }
      return { heads, rows: rows.length, columns: columns.length, data };
    },
    changes: async () => saved.changes,
  };
};
