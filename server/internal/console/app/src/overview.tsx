// The overview: the verdict, the servers, the last hours, and what happened.
import {
  CircleCheck,
  CircleX,
  Crown,
  Eye,
  Info,
  Network,
  PackageCheck,
  Power,
  RefreshCw,
  RotateCcw,
  TriangleAlert,
  Unplug,
  UserX,
  UsersRound,
  Wrench,
} from "lucide";
import type { Ensemble, Problem, Trends } from "./api";
import { beginOf, Chart, Marks, Spark, type Line } from "./charts";
import { ensemble, seen, toneOf, verdict, type Seen } from "./facts";
import {
  ago,
  bytes,
  capital,
  clock,
  count,
  duration,
  millis,
  of,
  short,
  Time,
  unknown,
  versionOf,
  versionsOf,
  type Figure,
} from "./format";
import { Dot, Empty, Icon, Segments, Skeleton, Tag, useGet, type Tone } from "./parts";
import { quantile, span } from "./prefs";
import { to } from "./router";
import {
  chosen,
  eventsOf,
  idOf,
  passedTo,
  ServerPick,
  settled,
  together as besides,
  Unheard,
  useEach,
  type Event,
  type Which,
} from "./which";

const spans: [string, string, number][] = [
  ["10m", "10 min", 10],
  ["1h", "1 hour", 60],
  ["6h", "6 hours", 360],
  ["24h", "24 hours", 1440],
];
function Verdict() {
  const v = verdict.value,
    e = ensemble.value;
  if (!v)
    return (
      <div class="verdict">
        <div class="badge" />
        <Skeleton rows={2} />
      </div>
    );
  const icon = v.tone === "good" ? CircleCheck : v.tone === "bad" ? CircleX : TriangleAlert;
  return (
    <section class={"verdict " + v.tone} aria-labelledby="verdict">
      <div class="badge">
        <Icon of={icon} />
      </div>
      <div class="grow">
        <h1 id="verdict">{v.sentence}</h1>
        <p class="about">
          {v.tone === "good" ? "Healthy. " : ""}
          {v.detail}
        </p>
      </div>
      {e && (
        <dl class="last">
          <div>
            <dt>Epoch</dt>
            <dd>{e.epoch}</dd>
          </div>
          <div>
            <dt>Last txn</dt>
            <dd>
              <code>{e.zxid || "–"}</code>
            </dd>
          </div>
        </dl>
      )}
    </section>
  );
}

/** Findings that several servers share, once: with the servers that have each. */
function together(all: Problem[]): { p: Problem; text: string }[] {
  const groups = new Map<string, Problem[]>();
  const bare = (p: Problem) => p.text.replace(/^server \d+: /, "");
  for (const p of all) {
    const key = [p.check, p.severity, p.remedy, bare(p) === p.text ? p.server : "", bare(p)].join("\n");
    groups.set(key, [...(groups.get(key) ?? []), p]);
  }
  return [...groups.values()].map((group) => {
    const p = { ...group[0], since: Math.min(...group.map((o) => o.since)) };
    if (group.length === 1) return { p, text: capital(p.text) };
    const ids = group.map((o) => Number(o.text.match(/\d+/)![0])).sort((a, b) => a - b);
    return { p, text: `Servers ${ids.slice(0, -1).join(", ")} and ${ids.at(-1)}: ${bare(p)}` };
  });
}

function Findings({ all }: { all: Problem[] }) {
  if (all.length === 0) return null;
  return (
    <section class="card" aria-labelledby="findings">
      <header>
        <h2 id="findings">Findings</h2>
        <span class="small faint">
          Also by <code>warren doctor</code>
        </span>
      </header>
      <ul class="findings">
        {together(all).map(({ p, text }) => (
          <li key={p.check + text}>
            <Tag tone={toneOf(p)} icon={TriangleAlert}>
              {capital(p.severity)}
            </Tag>
            <span class="text">{text}</span>
            <span class="small faint nowrap when">
              {p.check} · <Time at={p.since} relative />
            </span>
            {p.remedy && <p class="remedy">{capital(p.remedy)}</p>}
          </li>
        ))}
      </ul>
    </section>
  );
}

const roles: Record<string, [string, Tone, any]> = {
  leader: ["Leader", "info", Crown],
  leading: ["Leader", "info", Crown],
  follower: ["Follower", "", UsersRound],
  observer: ["Observer", "", Eye],
  joining: ["Joining", "warn", RefreshCw],
  absent: ["Away", "bad", Unplug],
  looking: ["No leader", "bad", RefreshCw],
  "read-only": ["Read-only", "warn", Eye],
  unknown: ["Not known", "", Info],
  standalone: ["Standalone", "info", Power],
};

/** Why a server is away, and since when it is not known how it is. */
const awayOf = (s: Seen) =>
  s.state?.silentSince ? `Not known since ${clock(s.state.silentSince)}: ${s.why}` : capital(s.why);

function ServerCard({ s }: { s: Seen }) {
  const [text, tone, icon] = roles[s.role] ?? [s.role, "" as Tone, Info];
  const st = s.state?.heardAt != null ? s.state : null; // of a server that is silent, the last that is known
  const fact = (name: string, value: string, title?: string) => (
    <div>
      <dt>{name}</dt>
      <dd title={title ?? value}>{value}</dd>
    </div>
  );
  const since = st?.uptimeMs != null ? duration(st.uptimeMs) : unknown;
  return (
    <li
      class={`card server${s.role === "leader" ? " leader" : ""}${s.up === false ? " away" : ""}`}
      data-server={s.id}
    >
      <div class="name">
        <Dot
          tone={s.up === null ? "" : s.up ? "good" : "bad"}
          label={s.up === null ? "Not known" : s.up ? "Up" : "Away"}
        />
        <b>Server {s.id}</b>
        {s.member.self && <span class="small faint">this server</span>}
        <Tag tone={tone} icon={icon}>
          {text}
        </Tag>
      </div>
      <dl class={st?.silentSince ? "faint" : ""}>
        {fact("Behind", s.member.lag === null ? unknown : of(s.member.lag, "txn"))}
        {fact("Round trip", s.member.self ? "–" : st?.roundTripMs != null ? millis(st.roundTripMs) : unknown)}
        {fact("Clients", st ? count(st.connections) : unknown)}
        {fact("Disk free", st?.diskFree != null ? bytes(st.diskFree) : unknown)}
        {fact(
          "Uptime",
          since,
          st?.uptimeMs != null ? new Date(Date.now() - st.uptimeMs).toLocaleString() : undefined,
        )}
        {fact("Version", st ? versionOf(st) || unknown : unknown, st ? versionsOf(st) : undefined)}
      </dl>
      <div class="at">
        <code>{s.member.clientAddress || s.member.addresses[0]}</code>
        <span>{s.up === false && s.why ? awayOf(s) : s.member.role === "observer" ? "No vote" : "Votes"}</span>
      </div>
    </li>
  );
}

function Alone() {
  const e = ensemble.value!;
  const fake: Seen = {
    id: e.serverId,
    role: e.state,
    up: e.serving,
    why: "",
    member: {
      id: e.serverId,
      role: "participant",
      state: e.state,
      self: true,
      addresses: [location.host],
      clientAddress: "",
      zxid: e.zxid,
      lag: 0,
    },
    state: null,
  };
  const [text, tone, icon] = roles[e.state] ?? [e.state, "" as Tone, Info];
  return (
    <li class="card server leader">
      <div class="name">
        <Dot tone={e.serving ? "good" : "bad"} label={e.serving ? "Up" : "Not serving clients"} />
        <b>This server</b>
        <Tag tone={tone} icon={icon}>
          {text}
        </Tag>
      </div>
      <dl>
        <div>
          <dt>Uptime</dt>
          <dd>{duration(e.uptimeMs)}</dd>
        </div>
        <div>
          <dt>Clients</dt>
          <dd>{count(e.connections)}</dd>
        </div>
        <div>
          <dt>Version</dt>
          <dd title={versionsOf(e)}>{versionOf(e)}</dd>
        </div>
      </dl>
      <div class="at">
        <code>{fake.member.addresses[0]}</code>
        <span>No ensemble</span>
      </div>
    </li>
  );
}

const latency = (ms: Figure) => (ms != null && ms < 0.01 ? "< 1 ms" : millis(ms));

/** How much of all operations are reads. */
const share = (reads: Figure, writes: Figure) =>
  reads != null && writes != null && reads + writes > 0
    ? `${Math.round((100 * reads) / (reads + writes))} % of operations`
    : "";

/** A mean of what is counted, as a whole number. */
const whole = (n: Figure) => (n == null ? n : Math.round(n));

const rate = (n: Figure) => (n == null ? unknown : short(n < 100 ? Number(n.toPrecision(2)) : Math.round(n)) + "/s");

/** How many connections a server has, and how many it has refused, for which reasons. */
const connected = (e: Ensemble | null) => {
  const refused = (e?.refused ?? []).filter((r) => r.count > 0);
  return [
    `${short(e?.connections)} connected here`,
    ...refused.map((r) => `${short(r.count)} refused: ${r.reason}`),
  ].join(", ");
};

/** What one server, or all of them, do now: each figure above its course over the span that the charts show. */
function Numbers({ e, trends, all }: { e: Ensemble | null; trends: Trends | null; all: boolean }) {
  const old = e && !e.serving && e.treeAt ? `not known since ${clock(e.treeAt)}` : "";
  const valuesOf = (series: string) => trends?.series.find((s) => s.name === series)?.values ?? [];
  const now = (series: string) => valuesOf(series).findLast((v) => v !== null);
  const sum = (name: string) => (all ? name + "@sum" : name);
  const cell = (name: string, value: string, more: string, series = "", color = "", id?: string) => (
    <div>
      <dt>{name}</dt>
      <dd id={id} class={value === unknown ? "unknown" : ""}>
        {value}
      </dd>
      <dd class="more">{more}</dd>
      {series && <Spark of={valuesOf(series)} color={color} />}
    </div>
  );
  const [reads, writes, clients] = [now(sum("reads")), now(sum("writes")), now(sum("connections"))];
  const p99 = all ? "p99.all@most" : "p99.all";
  return (
    <dl class="numbers" aria-label="Figures">
      {cell("Reads", rate(reads), share(reads, writes), sum("reads"), "--c1")}
      {cell("Writes", rate(writes), share(writes, reads), sum("writes"), "--c2")}
      {cell("Write latency", latency(now(p99)), all ? "p99, slowest server" : "p99", p99, "--c6")}
      {all
        ? cell("Pending requests", short(now(sum("outstanding"))), "at all servers", sum("outstanding"), "--c2")
        : cell(
            "Pending requests",
            short(e?.outstanding),
            `max latency ${latency(e?.latency?.max)}`,
            "outstanding",
            "--c2",
          )}
      {all
        ? cell(
            "Sessions",
            short(e?.sessions),
            old || (clients == null ? "" : of(Math.round(clients), "connection")),
            sum("connections"),
            "--c3",
          )
        : cell("Sessions", short(e?.sessions), [old, connected(e)].filter(Boolean).join(", "), "sessions", "--c3")}
      {cell(
        "Watches",
        short(all ? whole(now(sum("watches"))) : e?.watches),
        all ? "at all servers" : old || "at this server",
        sum("watches"),
        "--c5",
      )}
      {cell(
        "Znodes",
        short(e?.znodes),
        old || `${short(e?.ephemerals)} ephemeral`,
        own("znodes", all),
        "--c7",
        "znodes",
      )}
      {cell("Data", bytes(e?.dataBytes), old || "in memory", own("dataBytes", all), "--c4")}
    </dl>
  );
}

/** The series of a figure that is the same at every server. */
const own = (name: string, all: boolean) => (all ? name + "@most" : name);

const stageLines = (q: string): Line[] =>
  [
    ["Queue", "queue", "--c1"],
    ["Prepare", "prepare", "--c2"],
    ["Forward", "forward", "--c4"],
    ["Sync", "sync", "--c3"],
    ["Quorum", "quorum", "--c6"],
    ["Apply", "apply", "--c5"],
    ["Socket", "socket", "--c7"],
  ].map(([name, key, color]) => ({ name, series: `${q}.${key}`, color }));

const colors = ["--c1", "--c2", "--c3", "--c4", "--c5", "--c6", "--c7", "--c8"];

/** The figures of several servers: one line a server in each chart. */
function SideBySide({ trends, from, which }: { trends: Trends; from: number; which: Which[] }) {
  const chart = (title: string, series: string, u: string, floor?: number) => (
    <Chart
      title={title}
      trends={trends}
      from={from}
      u={u}
      floor={floor}
      lines={which.map(idOf).map((id, i) => ({
        name: `Server ${id}`,
        series: `${series}@${id}`,
        color: colors[i % colors.length],
      }))}
    />
  );
  return (
    <div class="charts">
      {chart("Reads", "reads", "/s", 10)}
      {chart("Writes", "writes", "/s", 10)}
      {chart("Write latency, p99", "p99.all", "ms")}
      {chart("Connections", "connections", "", 5)}
      {chart("Pending requests", "outstanding", "", 5)}
      {chart("Watches", "watches", "", 5)}
      {chart("Memory", "memory", "bytes")}
      {chart("Disk free", "diskFree", "bytes")}
      {chart("Received from clients", "bytesIn", "bytes/s")}
    </div>
  );
}

function Charts({ trends, from }: { trends: Trends; from: number }) {
  const q = quantile.value;
  return (
    <div class="charts">
      <Chart
        title="Operations"
        trends={trends}
        from={from}
        u="/s"
        floor={10}
        lines={[
          { name: "Reads", series: "reads", color: "--c1", fill: true },
          { name: "Writes", series: "writes", color: "--c2", fill: true },
        ]}
      />
      <Chart
        title="Write latency"
        trends={trends}
        from={from}
        u="ms"
        lines={[
          { name: "p50", series: "p50.all", color: "--c3" },
          { name: "p99", series: "p99.all", color: "--c6" },
        ]}
      />
      <Chart title={`Write latency by stage, ${q}`} trends={trends} from={from} u="ms" lines={stageLines(q)} />
      <Chart
        title="Sessions and connections"
        trends={trends}
        from={from}
        u=""
        floor={5}
        lines={[
          { name: "Sessions", series: "sessions", color: "--c1" },
          { name: "Connections here", series: "connections", color: "--c3" },
        ]}
      />
      <Chart
        title="Pending requests"
        trends={trends}
        from={from}
        u=""
        floor={5}
        lines={[{ name: "Pending, most", series: "outstanding", color: "--c2", fill: true }]}
      />
      <Chart
        title="Memory"
        trends={trends}
        from={from}
        u="bytes"
        lines={[{ name: "Memory", series: "memory", color: "--c4", fill: true }]}
      />
      <Chart
        title="Disk free"
        trends={trends}
        from={from}
        u="bytes"
        lines={[{ name: "Free", series: "diskFree", color: "--c7", fill: true }]}
      />
      <Chart
        title="Received from clients"
        trends={trends}
        from={from}
        u="bytes/s"
        lines={[{ name: "Bytes", series: "bytesIn", color: "--c3", fill: true }]}
      />
      <Chart
        title="Watches"
        trends={trends}
        from={from}
        u=""
        floor={5}
        lines={[{ name: "Watches here", series: "watches", color: "--c5", fill: true }]}
      />
    </div>
  );
}

const eventIcons: Record<string, [any, string]> = {
  start: [Power, "c-info"],
  role: [Crown, "c-warn"],
  finding: [TriangleAlert, "c-bad"],
  resolved: [CircleCheck, "c-good"],
  clients: [UsersRound, "c-info"],
  sessions: [UserX, "c-warn"],
  configuration: [Network, "c-info"],
  order: [Wrench, "c-info"],
  deploy: [PackageCheck, "c-good"],
  restore: [RotateCcw, "c-warn"],
};

function Events({ all, which }: { all: Event[]; which: Which[] }) {
  const many = which.length > 1;
  return (
    <section class="card" aria-labelledby="events">
      <header>
        <h2 id="events">Events</h2>
        <span class="small faint">
          {many
            ? "At all servers, since each started"
            : `At ${seen.value.length ? `server ${idOf(which[0])}` : "this server"}, since it started`}
        </span>
      </header>
      {all.length === 0 ? (
        <Empty icon={Info} title="No events yet" />
      ) : (
        <ol class="events">
          {all.slice(0, 20).map((e) => {
            const [icon, tone] = eventIcons[e.kind] ?? [Info, ""];
            return (
              <li key={e.at + e.text + e.servers.join()}>
                <span class={tone}>
                  <Icon of={icon} />
                </span>
                <span class="small dim nowrap when">
                  <Time at={e.at} /> <span class="faint">{ago(e.at)}</span>
                </span>
                <span>
                  {many && e.kind !== "finding" && e.kind !== "resolved" && <b>Server {e.servers[0]}: </b>}
                  {capital(e.text)}
                  {e.lasted !== undefined && <span class="faint nowrap"> · {duration(e.lasted)}</span>}
                </span>
              </li>
            );
          })}
        </ol>
      )}
    </section>
  );
}

export function Overview() {
  const minutes = spans.find((s) => s[0] === span.value)?.[2] ?? 60;
  const which = chosen("all"),
    all = which.length > 1;
  const every = (all ? 3 : 1) * (minutes <= 10 ? 2000 : minutes <= 60 ? 5000 : 15_000);
  const since = () => Math.floor(Date.now() / 60_000 - minutes) * 60_000;
  const [told] = useEach<Trends>("trends", which, () => ({ from: since() }), every, span.value);
  const other = all ? undefined : passedTo(which[0]);
  const itself = useGet<Ensemble>(other === undefined ? null : "ensemble", { server: other }, 5000);
  const e = ensemble.value;
  if (!e)
    return (
      <div class="page">
        <Verdict />
        <Skeleton rows={6} />
      </div>
    );
  const alone = e.members.length === 0,
    from = since();
  const trends = all ? besides(told) : told[0].data;
  const name = alone ? "This server" : all ? "Ensemble" : `Server ${idOf(which[0])}`;
  return (
    <div class="page" id="overview">
      <Verdict />
      <Findings all={e.problems} />
      <section aria-labelledby="servers" class="stack">
        <div class="row">
          <h2 id="servers" class="grow">
            {alone ? "Server" : "Servers"}
          </h2>
          <a class="small" href={to("servers")}>
            Manage servers
          </a>
        </div>
        <ul class="servers">{alone ? <Alone /> : seen.value.map((s) => <ServerCard key={s.id} s={s} />)}</ul>
      </section>
      <section aria-labelledby="now" class="stack">
        <div class="row wrap">
          <h2 id="now" class="grow nowrap">
            {name}
          </h2>
          <ServerPick page="overview" usual="all" />
          {!all && (
            <Segments
              label="Quantile of the stages"
              value={quantile.value}
              of={[
                ["p50", "p50"],
                ["p99", "p99"],
              ]}
              pick={(v) => (quantile.value = v)}
            />
          )}
          <Segments
            label="Span"
            value={span.value}
            of={spans.map(([k, t]) => [k, t] as [string, string])}
            pick={(v) => (span.value = v)}
          />
        </div>
        <Unheard of={told} />
        <Numbers e={other === undefined ? e : itself.data} trends={trends} all={all} />
        {!trends ? (
          told.every((t) => t.trouble) ? null : (
            <Skeleton rows={6} />
          )
        ) : all ? (
          <SideBySide trends={trends} from={from} which={told.map((t) => t.which)} />
        ) : (
          <Charts trends={trends} from={from} />
        )}
        {trends && <Marks of={trends.events} from={Math.max(from, beginOf(trends) ?? from)} />}
      </section>
      <Events all={settled(eventsOf(told))} which={which} />
    </div>
  );
}
