// The tree: at the left what was opened stays open, at the right is one znode.
import { batch, signal, useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import {
  Box,
  ChevronRight,
  CircleDashed,
  File,
  Folder,
  Hourglass,
  Key,
  ListOrdered,
  Lock,
  Search,
  TriangleAlert,
  Zap,
} from "lucide";
import { get, user, Trouble, type Child, type Children } from "./api";
import { bytes, count, joined, Name, parentOf, plain, short } from "./format";
import { Icon, Note } from "./parts";
import { openNodes, sortBy } from "./prefs";
import { go, param, to } from "./router";
import { ZnodeView } from "./znode";

const pageSize = 1000,
  rowHeight = 28;

interface Branch {
  children: Child[];
  total: number;
  after: string;
  order: string;
  loading: boolean;
  trouble: string;
  at: number;
}

// What is known of the opened znodes, by path. A map of signals would cost one for each of 200,000 rows.
const branches = new Map<string, Branch>();
const turn = signal(0);
const changed = () => (turn.value = turn.peek() + 1);

/** Fetches the first page of children, or the next one. */
async function fetchPage(path: string, again = false): Promise<void> {
  let b = branches.get(path);
  if (b?.loading) return;
  if (!b || again) {
    b = {
      children: b?.children ?? [],
      total: b?.total ?? 0,
      after: "",
      order: "name",
      loading: true,
      trouble: "",
      at: 0,
    };
    branches.set(path, b);
  }
  const after = again ? "" : b.after;
  b.loading = true;
  changed();
  try {
    const p = await get<Children>("children", { path, limit: pageSize, after: after || undefined });
    b.children = after ? b.children.concat(p.children) : p.children;
    b.total = p.total;
    b.after = p.after;
    b.order = p.order;
    b.trouble = "";
  } catch (e) {
    const gone = e instanceof Trouble && (e.status === 404 || e.status === 410);
    b.trouble =
      e instanceof Trouble && e.status === 403 ? "No read permission" : e instanceof Error ? e.message : String(e);
    if (gone) {
      b.children = [];
      b.after = "";
    }
  }
  b.loading = false;
  b.at = Date.now();
  changed();
}

/** Looks again at what is known of a znode and of its parent, after a change. */
export function refreshTree(path: string): void {
  for (const p of [path, parentOf(path)]) if (branches.has(p)) void fetchPage(p, true);
}

export function openNode(path: string, open: boolean): void {
  const all = new Set(openNodes.value);
  if (open) all.add(path);
  else all.delete(path);
  openNodes.value = [...all].slice(-500);
}

type Row =
  | { type: "node"; path: string; depth: number; name: string; child: Child | null; open: boolean; leaf: boolean }
  | { type: "more"; path: string; depth: number; left: number; trouble: string; loading: boolean };

const orders: Record<string, (a: Child, b: Child) => number> = {
  name: (a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0),
  modified: (a, b) => b.modified - a.modified,
  bytes: (a, b) => b.bytes - a.bytes,
  children: (a, b) => b.children - a.children,
};

// Sorted children, as long as they are the same.
const sorted = new WeakMap<Child[], Map<string, Child[]>>();
function inOrder(children: Child[], by: string): Child[] {
  let known = sorted.get(children);
  if (!known) sorted.set(children, (known = new Map()));
  if (!known.has(by)) known.set(by, [...children].sort(orders[by]));
  return known.get(by)!;
}

/** The rows that are shown. They are written without recursion over rows: a znode may have 200,000 children. */
function rowsOf(filter: string): Row[] {
  const rows: Row[] = [],
    open = new Set(openNodes.value),
    f = filter.toLowerCase();
  const walk = (path: string, depth: number) => {
    const b = branches.get(path);
    if (!b) return;
    for (const c of inOrder(b.children, sortBy.value)) {
      const p = joined(path, c.name),
        isOpen = c.children > 0 && open.has(p);
      if (f && !isOpen && !c.name.toLowerCase().includes(f)) continue;
      rows.push({
        type: "node",
        path: p,
        depth,
        name: c.name,
        child: c,
        open: isOpen,
        leaf: c.readable && c.children === 0,
      });
      if (isOpen) walk(p, depth + 1);
    }
    if (b.after || b.trouble || (b.loading && b.children.length === 0)) {
      rows.push({
        type: "more",
        path,
        depth,
        left: b.total - b.children.length,
        trouble: b.trouble,
        loading: b.loading,
      });
    }
  };
  rows.push({ type: "node", path: "/", depth: 0, name: "/", child: null, open: open.has("/"), leaf: false });
  if (open.has("/")) walk("/", 1);
  return rows;
}

// A name with the counter of a sequence, and one of a client that waits for a lock.
const isSequence = (name: string) => /\d{10}$/.test(name);
const isOfLock = (name: string) => /(lock|lease|read|write|__rlock__|__lock__)-?\d{10}$/i.test(name);

function kindOf(r: Extract<Row, { type: "node" }>): [any, string, string] {
  const c = r.child;
  if (c && !c.readable) return [Lock, "", "No read permission"];
  if (c?.kind === "ephemeral") {
    if (isOfLock(r.name)) return [Key, "eph", "Ephemeral, of a lock"];
    return isSequence(r.name) ? [ListOrdered, "eph", "Ephemeral, sequence"] : [Zap, "eph", "Ephemeral"];
  }
  if (branches.get(r.path)?.children.some((o) => isOfLock(o.name))) return [Key, "", "Lock"];
  if (c?.kind === "container") return [Box, "", "Container"];
  if (c?.kind === "ttl") return [Hourglass, "", "Time to live"];
  if (isSequence(r.name)) return [ListOrdered, "", "Sequence"];
  if (r.leaf) return [File, "", "No children"];
  return [Folder, "", "Has children"];
}

function metaOf(c: Child | null): string {
  if (!c || !c.readable) return "";
  if (c.children > 0) return short(c.children);
  return c.bytes > 0 ? bytes(c.bytes) : "";
}

function List({ path }: { path: string }) {
  const box = useRef<HTMLDivElement>(null);
  const top = useSignal(0),
    height = useSignal(600),
    filter = useSignal(""),
    at = useSignal(path);
  const rows = useMemo(() => rowsOf(filter.value.trim()), [turn.value, openNodes.value, sortBy.value, filter.value]);
  useEffect(() => {
    const sized = new ResizeObserver(() => (height.value = box.current?.clientHeight ?? 600));
    sized.observe(box.current!);
    return () => sized.disconnect();
  }, []);
  // Another visitor sees other znodes.
  useLayoutEffect(() => {
    branches.clear();
    for (const p of openNodes.value) void fetchPage(p);
  }, [user.value]);
  useLayoutEffect(() => {
    for (const p of openNodes.value) if (!branches.has(p)) void fetchPage(p);
  }, [openNodes.value]);
  // What is above the znode is opened, so that it can be seen where it is.
  useLayoutEffect(() => {
    at.value = path;
    batch(() => {
      for (let p = path; p !== "/";) {
        p = parentOf(p);
        if (!openNodes.value.includes(p)) openNode(p, true);
      }
    });
  }, [path]);
  const chosen = rows.findIndex((r) => r.type === "node" && r.path === at.value);
  const seenAt = useRef("");
  useEffect(() => {
    if (chosen < 0 || seenAt.current === at.value) return;
    seenAt.current = at.value;
    const y = chosen * rowHeight,
      b = box.current!;
    if (y < b.scrollTop || y > b.scrollTop + b.clientHeight - rowHeight) b.scrollTop = y - b.clientHeight / 3;
  }, [chosen, at.value]);
  const first = Math.max(0, Math.floor(top.value / rowHeight) - 8);
  const shownRows = rows.slice(first, first + Math.ceil(height.value / rowHeight) + 16);
  // A page that comes into view is fetched.
  useEffect(() => {
    for (const r of shownRows)
      if (r.type === "more" && !r.loading && !r.trouble && r.left > 0) void fetchPage(r.path);
  });
  const step = (n: number) => {
    for (let i = chosen + n; i >= 0 && i < rows.length; i += n > 0 ? 1 : -1) {
      const r = rows[i];
      if (r.type === "node") {
        at.value = r.path;
        seenAt.current = "";
        return;
      }
    }
  };
  const keys = (e: KeyboardEvent) => {
    const r = rows[chosen];
    const node = r?.type === "node" ? r : null;
    const known: Record<string, () => void> = {
      ArrowDown: () => step(1),
      ArrowUp: () => step(-1),
      j: () => step(1),
      k: () => step(-1),
      PageDown: () => step(20),
      PageUp: () => step(-20),
      Home: () => {
        at.value = "/";
        seenAt.current = "";
      },
      ArrowRight: () => node && !node.leaf && (node.open ? step(1) : openNode(node.path, true)),
      ArrowLeft: () =>
        node && (node.open ? openNode(node.path, false) : ((at.value = parentOf(node.path)), (seenAt.current = ""))),
      Enter: () => node && go("tree", { path: node.path }),
      u: () => {
        at.value = parentOf(at.value);
        seenAt.current = "";
      },
    };
    if (known[e.key] && !e.ctrlKey && !e.metaKey) {
      e.preventDefault();
      known[e.key]();
    }
  };
  return (
    <div class="left">
      <h1 class="sr only-phone">Tree</h1>
      <div class="bar">
        <input
          class="input"
          type="search"
          placeholder="Filter"
          aria-label="Filter what is open"
          value={filter.value}
          spellcheck={false}
          onInput={(e) => (filter.value = e.currentTarget.value)}
          onKeyDown={(e) => e.key === "Enter" && go("search", { contains: filter.value })}
        />
        <select
          class="input"
          aria-label="Sort children by"
          value={sortBy.value}
          onChange={(e) => (sortBy.value = e.currentTarget.value as any)}
        >
          <option value="name">By name</option>
          <option value="modified">Newest first</option>
          <option value="bytes">By size</option>
          <option value="children">By children</option>
        </select>
      </div>
      {filter.value && (
        <a class="row small" style={{ padding: "8px 12px" }} href={to("search", { contains: filter.value })}>
          <Icon of={Search} />
          Search all znodes for “{plain(filter.value)}”
        </a>
      )}
      <div
        class="vlist"
        ref={box}
        role="tree"
        aria-label="Znodes"
        tabIndex={0}
        onKeyDown={keys}
        aria-activedescendant={chosen >= first && chosen < first + shownRows.length ? "row" + chosen : undefined}
        onScroll={(e) => (top.value = e.currentTarget.scrollTop)}
      >
        <div class="space" role="presentation" style={{ height: rows.length * rowHeight + "px" }}>
          {shownRows.map((r, i) => {
            const style = { top: (first + i) * rowHeight + "px", paddingLeft: `min(${8 + r.depth * 14}px, 50%)` };
            if (r.type === "more") {
              return (
                <div
                  key={r.path + "\0more"}
                  class="node faint"
                  style={style}
                  role="treeitem"
                  aria-level={r.depth + 1}
                  aria-selected="false"
                  aria-label={r.trouble || "More children"}
                  onClick={() => void fetchPage(r.path, r.trouble !== "")}
                >
                  <span class="twist" />
                  <Icon of={r.trouble ? TriangleAlert : CircleDashed} />
                  {r.trouble || (r.left > 0 ? `${count(r.left)} more` : "Loading…")}
                </div>
              );
            }
            const [icon, cls, what] = kindOf(r);
            return (
              <div
                key={r.path}
                id={"row" + (first + i)}
                class={"node" + (r.path === at.value ? " at" : "")}
                style={style}
                role="treeitem"
                aria-level={r.depth + 1}
                aria-expanded={r.leaf ? undefined : r.open}
                aria-selected={r.path === path}
                data-path={r.path}
                onClick={() => go("tree", { path: r.path })}
                onDblClick={() => !r.leaf && openNode(r.path, !r.open)}
              >
                <span
                  class={"twist" + (r.open ? " open" : "")}
                  onClick={(e) => {
                    if (!r.leaf) {
                      e.stopPropagation();
                      openNode(r.path, !r.open);
                    }
                  }}
                >
                  {!r.leaf && <Icon of={ChevronRight} />}
                </span>
                <span class={"kind " + cls} role="img" aria-label={what} title={what}>
                  <Icon of={icon} />
                </span>
                <span class="cut">
                  <Name of={r.name} />
                </span>
                <span class="meta">{metaOf(r.child)}</span>
              </div>
            );
          })}
        </div>
      </div>
      {[...branches].some(([p, b]) => b.after && openNodes.value.includes(p) && sortBy.value !== "name") && (
        <div style={{ padding: "8px 12px" }}>
          <Note tone="info" icon={TriangleAlert}>
            Only children that are loaded are sorted.
          </Note>
        </div>
      )}
    </div>
  );
}

export function Tree() {
  const path = param("path", "/");
  return (
    <div class={"treepage " + (param("path") ? "at-znode" : "at-tree")}>
      <List path={path} />
      <ZnodeView path={path} key={path} />
    </div>
  );
}
