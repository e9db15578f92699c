// The rows of one head's map, fetched as they come into view: all at once if they are few.
const FEW = 160;
const BLOCK = 64;

export class Rows {
  constructor(source, pass, head, onMore) {
    this.source = source;
    this.pass = pass;
    this.head = head;
    this.onMore = onMore;
    this.known = new Map();
    this.asked = new Set();
    this.n = 0;
    this.stopped = false;
  }

  at(token) {
    return this.known.get(token);
  }

  // Make sure rows `first` to `last` are here, or come.
  async need(first, last, n) {
    this.n = n;
    const [from, to] = n <= FEW ? [0, n] : [Math.max(0, first), Math.min(n, last)];
    const wanted = [];
    const size = n <= FEW ? n : BLOCK;
    for (let block = Math.floor(from / size); block * size < to; block += 1) {
      if (!this.asked.has(block)) {
        this.asked.add(block);
        wanted.push([block * size, Math.min(n, (block + 1) * size)]);
      }
    }
    await Promise.all(wanted.map(([a, b]) => this.fetch(a, b)));
  }

  async all(n) {
    this.n = n;
    if (this.known.size === n) return;
    await this.fetch(0, n);
  }

  async fetch(first, last) {
    const found = await this.source.rows(this.pass, this.head, first, last);
    if (this.stopped) return;
    for (let i = found.first; i < found.last; i += 1) {
      this.known.set(i, found.data.subarray((i - found.first) * found.keys, (i - found.first + 1) * found.keys));
    }
    this.onMore();
  }

  stop() {
    this.stopped = true;
  }
}
