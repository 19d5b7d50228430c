// Who waits for whom: sessions, and the locks and semaphores between them.
import type { Recipe } from "./api";

/** A lock or semaphore for which somebody waits. A holder whose session may not be read is known by its znode. */
export interface Contended {
  path: string;
  holders: string[];
  waiters: string[];
  /** One holder that lets go is enough for one that waits: it is a semaphore. */
  any: boolean;
}

export interface Waits {
  locks: Contended[];
  /** Sessions of which none goes on before another one of them lets go. */
  cycle: Set<string>;
  /** Sessions that wait for those of a cycle, directly or not. */
  behind: Set<string>;
}

const kinds = new Set(["lock", "read/write lock", "semaphore"]);

/** Finds who waits for whom. An election is left out: there to wait is to be ready. */
export function waitsOf(recipes: Recipe[]): Waits {
  const locks: Contended[] = [];
  for (const r of recipes) {
    if (!kinds.has(r.kind)) continue;
    const of = (state: string) => [
      ...new Set(r.members.filter((m) => m.state === state).map((m) => m.session || m.path)),
    ];
    const holders = of("holds"),
      waiters = of("waits");
    if (holders.length && waiters.length) locks.push({ path: r.path, holders, waiters, any: r.kind === "semaphore" });
  }
  const wants = new Map<string, Contended[]>();
  for (const l of locks) for (const w of l.waiters) wants.set(w, [...(wants.get(w) ?? []), l]);

  // Whoever waits for nothing may let go, and so may in the end who waits for such ones only. A session that waits for
  // itself has several threads, of which another one may go on.
  const stuck = new Set(wants.keys());
  peel(stuck, (s) =>
    wants.get(s)!.every((l) => {
      const goesOn = (h: string) => h === s || !stuck.has(h);
      return l.any ? l.holders.some(goesOn) : l.holders.every(goesOn);
    }),
  );
  // Of the others, those for which none of them waits are behind a cycle, not in it.
  const cycle = new Set(stuck);
  peel(cycle, (s) => !locks.some((l) => l.holders.includes(s) && l.waiters.some((w) => w !== s && cycle.has(w))));
  return { locks, cycle, behind: new Set([...stuck].filter((s) => !cycle.has(s))) };
}

/** Removes what may go, until nothing may. */
function peel(from: Set<string>, may: (s: string) => boolean): void {
  for (let before = -1; before !== from.size;) {
    before = from.size;
    for (const s of from) if (may(s)) from.delete(s);
  }
}

export interface Drawn {
  id: string;
  lock: boolean;
  column: number;
  row: number;
  /** Waiters of a lock that are not drawn. */
  more: number;
}

export interface Drawing {
  nodes: Drawn[];
  edges: { from: string; to: string; cycle: boolean }[];
  columns: number;
  rows: number;
  /** Locks with waiters that are not drawn. */
  more: number;
}

/** How many locks are drawn, and how many waiters of each besides those that hold something or are in a cycle. */
export const locksDrawn = 24,
  waitersDrawn = 4;

/** Places sessions and locks in columns: who waits is at the left of the lock, and who holds it at its right. */
export function draw({ locks, cycle }: Waits): Drawing {
  const inCycle = (l: Contended) => l.holders.some((h) => cycle.has(h)) && l.waiters.some((w) => cycle.has(w));
  const shown = [...locks]
    .sort((a, b) => Number(inCycle(b)) - Number(inCycle(a)) || b.waiters.length - a.waiters.length)
    .slice(0, locksDrawn);
  const holding = new Set(shown.flatMap((l) => l.holders));
  const nodes = new Map<string, Drawn>(),
    next = new Map<string, string[]>(),
    edges: Drawing["edges"] = [];
  const add = (id: string, lock: boolean, more = 0) => {
    if (!nodes.has(id)) nodes.set(id, { id, lock, column: 0, row: 0, more });
  };
  const join = (from: string, to: string, marked: boolean) => {
    edges.push({ from, to, cycle: marked });
    next.set(from, [...(next.get(from) ?? []), to]);
  };
  for (const l of shown) {
    const id = "lock " + l.path;
    let rest = waitersDrawn;
    const waiters = l.waiters.filter((w) => holding.has(w) || cycle.has(w) || rest-- > 0);
    const holders = l.holders.filter((h, i) => i < waitersDrawn || cycle.has(h) || nodes.has(h));
    add(id, true, l.waiters.length - waiters.length);
    for (const w of waiters) {
      add(w, false);
      join(w, id, cycle.has(w) && inCycle(l));
    }
    for (const h of holders) {
      add(h, false);
      join(id, h, cycle.has(h) && inCycle(l));
    }
  }
  // The level of a node is the longest way to one that waits for nothing; a way that comes back to itself ends there.
  const level = new Map<string, number>(),
    under = new Set<string>();
  const levelOf = (id: string): number => {
    if (!level.has(id)) {
      under.add(id);
      const on = (next.get(id) ?? []).filter((to) => !under.has(to));
      level.set(id, Math.max(0, ...on.map((to) => levelOf(to) + 1)));
      under.delete(id);
    }
    return level.get(id)!;
  };
  for (const lock of [false, true]) for (const n of nodes.values()) if (n.lock === lock) levelOf(n.id);
  const columns = Math.max(0, ...level.values()) + 1;
  const used: Drawn[][] = Array.from({ length: columns }, () => []);
  for (const n of nodes.values()) used[(n.column = columns - 1 - level.get(n.id)!)].push(n);
  // From the right on, each column is in the order of the nodes to which it leads.
  for (let c = columns - 1; c >= 0; c--) {
    const mean = (n: Drawn) => {
      const rows = (next.get(n.id) ?? [])
        .map((to) => nodes.get(to)!)
        .filter((t) => t.column > c)
        .map((t) => t.row);
      return rows.length ? rows.reduce((a, b) => a + b, 0) / rows.length : 0;
    };
    const key = new Map(used[c].map((n) => [n, mean(n)]));
    used[c].sort((a, b) => key.get(a)! - key.get(b)!).forEach((n, i) => (n.row = i));
  }
  return {
    nodes: [...nodes.values()],
    edges,
    columns,
    rows: Math.max(0, ...used.map((c) => c.length)),
    more: locks.length - shown.length,
  };
}
