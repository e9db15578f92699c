// Where maps come from: the server, which sends only what is asked for.
import { ask, askBytes, tell } from "./ask.js";
import { floatsOf } from "./half.js";

export const serverSource = () => {
  const at = (pass, what, query) => `/api/live/passes/${encodeURIComponent(pass.key)}/${what}?${new URLSearchParams(query)}`;
  // A reading the server no longer keeps is read again, once.
  const kept = async (pass, fetch) => {
    try {
      return await fetch();
    } catch (error) {
      if (error.status !== 410) throw error;
      await tell("/api/live/read", pass.asked);
      return fetch();
    }
  };
  return {
    fixed: false,
    model: () => ask("/api/live"),
    read: async (asked, signal) => ({ ...(await tell("/api/live/read", asked, { signal })), asked }),
    rows: (pass, head, first, last) =>
      kept(pass, async () => {
        const { buffer, about } = await askBytes(at(pass, "map", { head, first, last }));
        return { ...about, data: floatsOf(buffer) };
      }),
    pictures: (pass, stack, layer) =>
      kept(pass, async () => {
        const { buffer, about } = await askBytes(at(pass, "pictures", { stack, layer }));
        const pairs = new Uint8Array(buffer);
        // two cells to a byte; 15 shades become 255
        const data = Uint8Array.from({ length: about.heads * about.rows * about.columns }, (_, i) => 17 * (i % 2 ? pairs[i >> 1] & 15 : pairs[i >> 1] >> 4));
        return { ...about, data };
      }),
    changes: (before, after) => kept(after, () => kept(before, () => ask(at(after, "changes", { from: before.key })))),
  };
};
