// What causes the load: the top of everything, slow operations, sizes.
import { useSignal } from "@preact/signals";
import { useLayoutEffect } from "preact/hooks";
import { ChartNoAxesColumn, Lock, Timer, TriangleAlert } from "lucide";
import {
  get,
  Trouble,
  type SizePart,
  type Sizes as Counted,
  type Slow as SlowPage,
  type SlowOperation,
  type Stages,
  type TopOfAll,
  type TopEntry,
} from "./api";
import { capital, ago, baseOf, bytes, count, Crumbs, local, millis, Name, plain, short, Time } from "./format";
import { Empty, Note, Segments, SessionLink, Silent, Skeleton, useGet } from "./parts";
import { phone } from "./prefs";
import { amend, param, to } from "./router";
import { serverColumn, Table } from "./table";

type By = "requests" | "bytes" | "ms";
type Kind = "paths" | "operations" | "addresses" | "sessions";

/** Servers by their ids. */
const placesOf = (ids: number[]) =>
  ids.length === 0 ? "" : (ids.length === 1 ? "Server " : "Servers ") + ids.join(", ");

/** A figure a second, in the unit of what is ranked. */
const rateOf = (by: By, n: number) =>
  n < 0.005 && by === "requests"
    ? "< 0.01/s"
    : (by === "bytes" ? bytes(n) : by === "ms" ? millis(n) : short(n < 1 ? Math.round(100 * n) / 100 : n)) + "/s";

/** The bar behind a row: how much it is of the greatest. */
const part = (share: number) => ({ "--part": 100 * share + "%" }) as any;

function Ranking({
  title,
  all,
  by,
  at,
  link,
  hidden,
}: {
  title: string;
  all: TopEntry[] | null;
  by: By;
  at?: (key: string) => number[];
  link?: (key: string) => string;
  hidden?: boolean;
}) {
  const most = Math.max(...(all ?? []).map((e) => e[by]), 1e-9);
  return (
    <section class="card" aria-label={title}>
      <header>
        <h2>{title}</h2>
      </header>
      {hidden ? (
        <Empty icon={Lock} title="No read permission">
          Needs the permissions for a snapshot: log in as the super user.
        </Empty>
      ) : !all?.length ? (
        <Empty icon={ChartNoAxesColumn} title="Nothing recorded" />
      ) : (
        <table class="t rank" aria-label={title}>
          <tbody>
            {all.map((e) => (
              <tr key={e.key} style={part(e[by] / most)}>
                <th scope="row" class="wrap">
                  {link ? (
                    <a href={link(e.key)}>
                      <Name of={e.key} />
                    </a>
                  ) : (
                    <Name of={e.key} />
                  )}
                </th>
                {at && <td class="small faint nowrap">{placesOf(at(e.key))}</td>}
                <td class="num">{rateOf(by, e[by])}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

export function Top() {
  const by = param("by", "requests") as "requests" | "bytes" | "time";
  const t = useGet<TopOfAll>("top", { by, limit: 20 }, 3000);
  const of: By = by === "time" ? "ms" : by,
    servers = t.data?.servers ?? [];
  // Where the key is among those that cause most.
  const at = (kind: Kind) =>
    servers.length > 1
      ? (key: string) => servers.filter((s) => s.top?.[kind].some((e) => e.key === key)).map((s) => s.id)
      : undefined;
  return (
    <div class="page" id="top">
      <header>
        <h1>Top</h1>
        <Segments
          label="Order by"
          value={by}
          pick={(v) => amend("top", { by: v })}
          of={[
            ["requests", "Requests"],
            ["bytes", "Bytes"],
            ["time", "Time"],
          ]}
        />
      </header>
      {t.data?.enabled && (
        <p class="dim">
          Rates over the last {t.data.windowSeconds} s{servers.length > 1 && " at all servers"}, with more weight on
          the newest requests. {t.data.oneIn === 1 ? "Every request" : `One request of ${t.data.oneIn}`} is recorded.
        </p>
      )}
      {t.trouble && (
        <Note tone="bad" icon={TriangleAlert}>
          {t.trouble.message}
        </Note>
      )}
      {!t.data && !t.trouble && <Skeleton rows={6} />}
      <Silent of={servers} />
      {t.data && !t.data.enabled && (
        <Note tone="info" icon={ChartNoAxesColumn}>
          Nothing is recorded: <code>warren.top.enabled</code> is false.
        </Note>
      )}
      {t.data?.enabled && (
        <>
          <dl class="numbers">
            <div>
              <dt>Requests</dt>
              <dd>{short(t.data.total.requests)}/s</dd>
            </div>
            <div>
              <dt>Bytes</dt>
              <dd>{bytes(t.data.total.bytes)}/s</dd>
            </div>
            <div>
              <dt>Time</dt>
              <dd>{millis(t.data.total.ms)}/s</dd>
            </div>
          </dl>
          <div class="two">
            <div class="stack">
              <Ranking
                title="Paths"
                all={t.data.paths}
                by={of}
                at={at("paths")}
                link={(p) => to("tree", { path: p })}
                hidden={!t.data.everything}
              />
              <Ranking
                title="Sessions"
                all={t.data.sessions}
                by={of}
                at={at("sessions")}
                link={(s) => to("session", { label: s })}
                hidden={!t.data.everything}
              />
            </div>
            <div class="stack">
              {servers.length > 1 && <Shares of={servers} by={of} />}
              <Ranking title="Operations" all={t.data.operations} by={of} at={at("operations")} />
              <Ranking
                title="Addresses"
                all={t.data.addresses}
                by={of}
                at={at("addresses")}
                link={(a) => to("sessions", { find: a })}
                hidden={!t.data.everything}
              />
            </div>
          </div>
        </>
      )}
    </div>
  );
}

/** What each server has of the load. */
function Shares({ of: servers, by }: { of: TopOfAll["servers"]; by: By }) {
  const most = Math.max(...servers.map((s) => s.top?.total[by] ?? 0), 1e-9);
  return (
    <section class="card" aria-label="Servers">
      <header>
        <h2>Servers</h2>
      </header>
      <table class="t rank" aria-label="Servers">
        <tbody>
          {servers.map((s) => (
            <tr key={s.id} style={part((s.top?.total[by] ?? 0) / most)}>
              <th scope="row">Server {s.id}</th>
              <td class="num">
                {!s.top ? "Not known" : s.top.enabled ? rateOf(by, s.top.total[by]) : "Not recorded"}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

export const stageColours: [keyof Stages, string][] = [
  ["queue", "--c1"],
  ["prepare", "--c2"],
  ["forward", "--c4"],
  ["sync", "--c3"],
  ["quorum", "--c6"],
  ["apply", "--c5"],
  ["socket", "--c7"],
];

/** The stages of an operation. The bar is as long as it took, compared with the longest of all. */
export function StageBar({ of, share }: { of: Stages; share: number }) {
  const sum = stageColours.reduce((n, [s]) => n + of[s], 0) || 1;
  const text = stageColours
    .filter(([s]) => of[s] > 0)
    .map(([s]) => `${capital(s)} ${millis(of[s])}`)
    .join(", ");
  return (
    <div class="bars" role="img" aria-label={text} title={text.replaceAll(", ", "\n")}>
      {stageColours.map(
        ([s, c]) =>
          of[s] > 0 && <i key={s} style={{ width: (100 * share * of[s]) / sum + "%", background: `var(${c})` }} />,
      )}
    </div>
  );
}

export function Slow() {
  const s = useGet<SlowPage>("slow", { limit: 256 }, 5000);
  const longest = Math.max(...(s.data?.operations ?? []).map((o) => o.ms), 1e-9);
  return (
    <div class="page" id="slow">
      <header>
        <h1>Slow operations</h1>
      </header>
      {s.trouble && (
        <Note tone="bad" icon={TriangleAlert}>
          {s.trouble.message}
        </Note>
      )}
      {!s.data && !s.trouble && <Skeleton rows={6} />}
      {s.data && (
        <>
          <p class="dim">
            {s.data.thresholdMs > 0 ? (
              <>
                Operations that took {millis(s.data.thresholdMs)} or longer: {count(s.data.found)} since the servers
                started; the newest 256 of each are kept.
                {!s.data.everything && " Paths and sessions need the super user's login."}
              </>
            ) : (
              <>
                Nothing is recorded: <code>warren.slow.threshold</code> is 0.
              </>
            )}
          </p>
          <Silent of={s.data.servers} />
          {s.data.operations.length > 0 && (
            <div class="keys row wrap small">
              {stageColours.map(([name, c]) => (
                <span class="row" style={{ gap: "5px" }} key={name}>
                  <i class="dot" style={{ background: `var(${c})`, borderRadius: "2px" }} />
                  {capital(name)}
                </span>
              ))}
            </div>
          )}
          <div class="card">
            {s.data.operations.length === 0 ? (
              <Empty icon={Timer} title="No slow operations" />
            ) : (
              <Table
                label="Slow operations"
                rows={s.data.operations}
                keyOf={(o) => [o.server, o.began, o.session, o.zxid, o.path, o.ms].join()}
                columns={[
                  {
                    name: "Started",
                    by: (o) => o.began,
                    cell: (o) => (
                      <span class="nowrap">
                        <Time at={o.began} />
                      </span>
                    ),
                  },
                  { name: "Operation", plain: true, by: (o) => o.operation, cell: (o) => o.operation },
                  ...(s.data.servers.length > 1 ? [serverColumn<SlowOperation>()] : []),
                  { name: "Duration", num: true, by: (o) => o.ms, cell: (o) => millis(o.ms) },
                  { name: "Stages", plain: true, cell: (o) => <StageBar of={o.stages} share={o.ms / longest} /> },
                  { name: "Slowest", by: (o) => o.slowest, cell: (o) => capital(o.slowest) },
                  {
                    name: "Path",
                    wrap: true,
                    plain: true,
                    cell: (o) =>
                      o.path ? (
                        <a href={to("tree", { path: o.path })}>
                          <Name of={o.path} />
                        </a>
                      ) : (
                        "–"
                      ),
                  },
                  {
                    name: "Session",
                    minor: true,
                    cell: (o) => <SessionLink label={o.session} />,
                  },
                  { name: "Txn", minor: true, cell: (o) => (o.zxid ? <code>{o.zxid}</code> : "–") },
                  ...(s.data.operations.some((o) => o.error)
                    ? [{ name: "Error", cell: (o: SlowOperation) => o.error || "–" }]
                    : []),
                  ...(s.data.operations.some((o) => o.trace)
                    ? [{ name: "Trace", minor: true, cell: (o: any) => <code>{o.trace}</code> }]
                    : []),
                ]}
              />
            )}
          </div>
        </>
      )}
    </div>
  );
}

type Measure = "bytes" | "znodes" | "writes";

interface Box {
  part: SizePart;
  x: number;
  y: number;
  w: number;
  h: number;
}

/** Rectangles as near to squares as can be (Bruls, Huizing, van Wijk, 2000), in percent of the area. */
export function squarify(parts: { part: SizePart; size: number }[], width: number, height: number): Box[] {
  const out: Box[] = [],
    all = parts.filter((p) => p.size > 0).sort((a, b) => b.size - a.size);
  let x = 0,
    y = 0,
    w = width,
    h = height,
    rest = all.reduce((n, p) => n + p.size, 0);
  for (let i = 0; i < all.length;) {
    const side = Math.min(w, h),
      area = w * h;
    const worst = (n: number) => {
      const sum = all.slice(i, i + n).reduce((a, p) => a + p.size, 0),
        deep = ((sum / rest) * area) / side;
      return Math.max(
        ...all.slice(i, i + n).map((p) => {
          const long = (p.size / sum) * side;
          return Math.max(long / deep, deep / long);
        }),
      );
    };
    let n = 1;
    while (i + n < all.length && worst(n + 1) <= worst(n)) n++;
    const row = all.slice(i, i + n),
      sum = row.reduce((a, p) => a + p.size, 0),
      deep = ((sum / rest) * area) / side;
    let at = 0;
    for (const p of row) {
      const long = (p.size / sum) * side;
      out.push(
        w >= h ? { part: p.part, x, y: y + at, w: deep, h: long } : { part: p.part, x: x + at, y, w: long, h: deep },
      );
      at += long;
    }
    if (w >= h) {
      x += deep;
      w -= deep;
    } else {
      y += deep;
      h -= deep;
    }
    rest -= sum;
    i += n;
  }
  return out;
}

/** The parts of a part, drawn in its area below its name. */
function Within({ b, by, hot, write }: { b: Box; by: Measure; hot: number; write: (p: SizePart) => string }) {
  const parts = b.part.parts ?? [];
  const rest = { ...b.part, path: "", parts: null, [by]: b.part[by] - parts.reduce((n, p) => n + p[by], 0) };
  const boxes = squarify(
    [...parts, rest].map((part) => ({ part, size: part[by] })),
    b.w,
    b.h,
  );
  return (
    <span class="within">
      {boxes.map(
        (i) =>
          i.part.path && (
            <span
              key={i.part.path}
              title={`${plain(i.part.path)}\n${write(i.part)}`}
              style={placed(i, b.w, b.h, i.part.writes / hot)}
            >
              <span class="cut">{plain(baseOf(i.part.path))}</span>
              <span class="cut small">{write(i.part)}</span>
            </span>
          ),
      )}
    </span>
  );
}

/** Where a box is, in an area of such a width and height, and how much of the heat it has. */
const placed = (b: Box, width: number, height: number, heat: number) =>
  ({
    left: (100 * b.x) / width + "%",
    top: (100 * b.y) / height + "%",
    width: (100 * b.w) / width + "%",
    height: (100 * b.h) / height + "%",
    "--heat": 10 + 46 * Math.sqrt(heat) + "%", // so that a tenth of the writes is seen, too
  }) as any;

/** A time of today without its date. */
const momentOf = (at: number) => local(at).replace(local(Date.now()).slice(0, 11), "");

/** A change of bytes, with its sign. */
const change = (n: number | null) => (n === null ? "–" : n === 0 ? "0 B" : (n > 0 ? "+" : "−") + bytes(Math.abs(n)));

export function Sizes() {
  const path = param("path", "/"),
    by = param("by", "bytes") as Measure,
    since = Number(param("since")) || undefined;
  const data = useSignal<Counted | null>(null),
    trouble = useSignal("");
  useLayoutEffect(() => {
    const stop = new AbortController();
    let timer = 0;
    if (data.value?.path !== path) data.value = null;
    const ask = async () => {
      try {
        const got = await get<Counted>("sizes", { path, since }, stop.signal);
        data.value = got;
        trouble.value = "";
        timer = window.setTimeout(ask, got.running ? 300 : 10_000);
      } catch (e) {
        if (stop.signal.aborted) return;
        trouble.value = e instanceof Trouble ? e.message : String(e);
        timer = window.setTimeout(ask, 5000);
      }
    };
    void ask();
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [path, since]);
  const d = data.value,
    write = (p: SizePart) =>
      by === "bytes" ? bytes(p.bytes) : by === "znodes" ? count(p.znodes) + " znodes" : short(p.writes) + "/s";
  const parts = d?.whole.parts ?? [];
  // What is in no part, the znode itself and its smaller children, has an area, too.
  const rest = d ? d.whole[by] - parts.reduce((n, p) => n + p[by], 0) : 0;
  const other = {
    path: "",
    znodes: rest,
    bytes: rest,
    writes: by === "writes" ? rest : 0,
    parts: [],
    others: 0,
    grown: null,
  };
  const deep = phone.value ? 130 : 46; // the height of the area for a width of 100
  const boxes = squarify(
    [...parts, other].map((part) => ({ part, size: part[by] })),
    100,
    deep,
  );
  const hot = Math.max(...parts.map((p) => p.writes), 1e-9);
  return (
    <div class="page" id="sizes">
      <header>
        <h1>Sizes</h1>
        <a class="btn" href={to("tree", { path })}>
          Open in the tree
        </a>
        {d && d.formers.length > 0 && (
          <select
            class="input auto"
            aria-label="Growth since"
            value={String(d.since)}
            onChange={(e) => amend("sizes", { path, by, since: e.currentTarget.value })}
          >
            {d.formers.map((at) => (
              <option key={at} value={String(at)}>
                Growth since {momentOf(at)}, {ago(at)}
              </option>
            ))}
          </select>
        )}
        <Segments
          label="Size by"
          value={by}
          pick={(v) => amend("sizes", { path, by: v, since })}
          of={[
            ["bytes", "Bytes"],
            ["znodes", "Znodes"],
            ["writes", "Writes"],
          ]}
        />
      </header>
      {trouble.value && (
        <Note tone="bad" icon={TriangleAlert}>
          {trouble.value}
        </Note>
      )}
      {!d && !trouble.value && <Skeleton rows={6} />}
      {d && (
        <>
          <div class="row wrap">
            <Crumbs path={path} href={(path) => to("sizes", { path, by, since })} />
            <p class="dim" role="status">
              {d.counted > 0 ? (
                <>
                  {bytes(d.whole.bytes)} in {count(d.whole.znodes)} znodes, counted {ago(d.counted)}.
                </>
              ) : (
                <>Counting: {Math.round(d.progress * 100)} % so far.</>
              )}
              {d.missed && " The tree has changed meanwhile: some may be missing."}
            </p>
            <span class="row small dim legend">
              Fewer writes <i aria-hidden="true" /> more writes
            </span>
          </div>
          {boxes.length > 0 && (
            <div class="card" style={{ padding: "8px" }}>
              <div class="treemap" aria-hidden="true">
                {boxes.map((b) => (
                  <a
                    key={b.part.path}
                    tabIndex={-1}
                    data-size={b.part[by]}
                    href={b.part.path ? to("sizes", { path: b.part.path, by, since }) : undefined}
                    title={
                      `${plain(b.part.path) || "The rest"}\n${write(b.part)}` +
                      (b.part.grown !== null ? `\n${change(b.part.grown)} since ${momentOf(d.since)}` : "")
                    }
                    style={placed(b, 100, deep, b.part.writes / hot)}
                  >
                    <span class="name">
                      <b class="cut">{b.part.path ? plain(baseOf(b.part.path)) : "The rest"}</b>
                      <span class="cut">{write(b.part)}</span>
                    </span>
                    {b.w > 12 && b.h > 12 && b.part.parts && <Within b={b} by={by} hot={hot} write={write} />}
                  </a>
                ))}
              </div>
            </div>
          )}
          <div class="card">
            <Table
              label="Subtrees"
              rows={parts}
              keyOf={(p) => p.path}
              start={by === "znodes" ? 3 : by === "writes" ? 4 : 1}
              columns={[
                {
                  name: "Subtree",
                  wrap: true,
                  by: (p) => p.path,
                  cell: (p) => (
                    <a href={to("sizes", { path: p.path, by, since })}>
                      <Name of={p.path} />
                    </a>
                  ),
                },
                { name: "Bytes", num: true, by: (p) => p.bytes, cell: (p) => bytes(p.bytes) },
                {
                  name: "Growth",
                  num: true,
                  by: (p) => p.grown ?? -Infinity,
                  cell: (p) => change(p.grown),
                },
                { name: "Znodes", num: true, by: (p) => p.znodes, cell: (p) => count(p.znodes) },
                {
                  name: "Writes",
                  num: true,
                  by: (p) => p.writes,
                  cell: (p) => (p.writes ? rateOf("requests", p.writes) : "0/s"),
                },
              ]}
            />
            {parts.length > 0 && d.formers.length === 0 && (
              <p class="small faint body">
                Growth is known from the second count on. While this page is open, the tree is counted every minute.
              </p>
            )}
            {parts.length === 0 && d.counted > 0 && <Empty icon={ChartNoAxesColumn} title="No children" />}
          </div>
          {d.whole.others > 0 && <p class="small faint">{count(d.whole.others)} smaller subtrees are not listed.</p>}
        </>
      )}
    </div>
  );
}
