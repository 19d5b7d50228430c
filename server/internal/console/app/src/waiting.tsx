// The picture of who waits for whom.
import { Key, TriangleAlert, User } from "lucide";
import type { Recipe } from "./api";
import { baseOf, count, Name, of, plain, waiting } from "./format";
import { Empty, Icon, Note } from "./parts";
import { to } from "./router";
import { draw, waitsOf, type Drawing, type Drawn } from "./waits";

const width = 208,
  height = 44,
  across = 40,
  down = 12,
  round = 30;
const left = (column: number) => column * (width + across),
  top = (row: number) => row * (height + down);

/** The edges, from the right side of a node to the left side of another; to one that stands before it, below them all. */
function Edges({ d, at, size }: { d: Drawing; at: Map<string, Drawn>; size: Size }) {
  let below = top(d.rows) + 4;
  const way = (a: Drawn, b: Drawn) => {
    const x1 = size.x(a) + width,
      y1 = top(a.row) + height / 2,
      x2 = size.x(b) - 6,
      y2 = top(b.row) + height / 2;
    if (b.column > a.column) return `M${x1} ${y1}C${(x1 + x2) / 2} ${y1} ${(x1 + x2) / 2} ${y2} ${x2} ${y2}`;
    const y = below;
    below += 6;
    return (
      `M${x1} ${y1}C${x1 + round} ${y1} ${x1 + round} ${y} ${x1} ${y}` +
      `L${x2} ${y}C${x2 - round} ${y} ${x2 - round} ${y2} ${x2} ${y2}`
    );
  };
  return (
    <svg class="edges" aria-hidden="true" width={size.width} height={size.height}>
      {d.edges.map((e) => {
        const b = at.get(e.to)!;
        return (
          <g key={e.from + " " + e.to} class={e.cycle ? "cycle" : ""}>
            <path d={way(at.get(e.from)!, b)} />
            <path class="head" d={`M${size.x(b) - 1} ${top(b.row) + height / 2}l-7 -4v8z`} />
          </g>
        );
      })}
    </svg>
  );
}

interface Size {
  width: number;
  height: number;
  x: (n: Drawn) => number;
}

/** How large the picture is. Edges that go back need room around it. */
function sizeOf(d: Drawing, at: Map<string, Drawn>): Size {
  const back = d.edges.filter((e) => at.get(e.to)!.column <= at.get(e.from)!.column).length;
  const margin = back ? round : 0;
  return {
    width: left(d.columns) - across + 2 * margin,
    height: top(d.rows) + (back ? 4 + 6 * back : -down),
    x: (n) => margin + left(n.column),
  };
}

export function Waiting({ recipes, whole }: { recipes: Recipe[]; whole: boolean }) {
  const waits = waitsOf(recipes),
    d = draw(waits);
  const at = new Map(d.nodes.map((n) => [n.id, n])),
    size = sizeOf(d, at);
  const names = new Map(recipes.flatMap((r) => r.members.map((m) => [m.session || m.path, m.text])));
  const holds = (id: string) => waits.locks.filter((l) => l.holders.includes(id)).length;
  return (
    <section class="card" aria-label="Who waits for whom">
      <header>
        <h2 class="grow">Who waits for whom</h2>
        {waits.locks.length > 0 && (
          <span class="small faint nowrap">
            {of(waits.locks.length, "lock")}
            {whole ? "" : " so far"}
          </span>
        )}
      </header>
      {waits.locks.length === 0 ? (
        <Empty icon={Key} title="No session waits for a lock">
          {whole
            ? "Elections do not count: to wait there is to be ready."
            : "Not all znodes have been looked at yet."}
        </Empty>
      ) : (
        <div class="body stack">
          {waits.cycle.size > 0 && (
            <Note tone="bad" icon={TriangleAlert}>
              <strong>{of(waits.cycle.size, "session")} wait for each other</strong>
              {waits.behind.size > 0 && `, and ${count(waits.behind.size)} behind them`}. Unless a program has other
              threads that let go, none of them goes on: end one of these sessions.
            </Note>
          )}
          <div class="scroll-x" tabIndex={0} role="group" aria-label="Who waits for whom: sessions and locks">
            <div class="waits" style={{ width: size.width + "px", height: size.height + "px" }}>
              <Edges d={d} at={at} size={size} />
              {d.nodes.map((n) => {
                const place = { left: size.x(n) + "px", top: top(n.row) + "px" };
                if (n.lock) {
                  const path = n.id.slice("lock ".length),
                    l = waits.locks.find((l) => l.path === path)!;
                  return (
                    <a key={n.id} class="lock" style={place} href={to("recipe", { path })} title={plain(path)}>
                      <Icon of={Key} />
                      <span class="cut">
                        <Name of={baseOf(path)} />
                        <small>
                          {waiting(l.waiters.length)}
                          {n.more > 0 && `, ${count(n.more)} not drawn`}
                        </small>
                      </span>
                    </a>
                  );
                }
                const known = !n.id.startsWith("/"),
                  held = holds(n.id);
                return (
                  <a
                    key={n.id}
                    class={waits.cycle.has(n.id) ? "in-cycle" : ""}
                    style={place}
                    href={known ? to("session", { label: n.id }) : to("tree", { path: n.id })}
                    title={plain(`${n.id} ${names.get(n.id) ?? ""}`)}
                  >
                    <Icon of={User} />
                    <span class="cut">
                      {known ? <code>{n.id}</code> : <Name of={baseOf(n.id)} />}
                      <small>
                        {waits.cycle.has(n.id) ? "in a cycle" : held ? `holds ${of(held, "lock")}` : "waits"}
                        {names.get(n.id) && known ? ` · ${plain(names.get(n.id)!)}` : ""}
                      </small>
                    </span>
                  </a>
                );
              })}
            </div>
          </div>
          {d.more > 0 && <p class="small faint">{of(d.more, "lock")} with fewer waiters are not drawn.</p>}
        </div>
      )}
    </section>
  );
}
