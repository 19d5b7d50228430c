// One session: its client, the locks that it holds and awaits, and what it has cost.
import { useSignal } from "@preact/signals";
import { Key, Lock, Timer, TriangleAlert, Unplug } from "lucide";
import { user, type Part, type Recipe, type Session as One, type SessionDetails, type SlowOperation } from "./api";
import type { Slow as SlowPage, TopOfAll } from "./api";
import { mayWrite } from "./facts";
import { bytes, capital, count, millis, Name, of, short, Time, waiting } from "./format";
import { StageBar } from "./load";
import { orderOf } from "./orders";
import { Button, Empty, Note, SessionLink, Silent, Skeleton, stateTones, Tag, useGet, type Resource } from "./parts";
import { param, to } from "./router";
import { OrderDialog } from "./servers";
import { kindOf } from "./recipes";
import { told, wholeMs } from "./sessions";
import { serverColumn, Table } from "./table";

export function Session() {
  const label = param("label");
  const s = useGet<SessionDetails>("session", { label }, 3000);
  const slow = useGet<SlowPage>("slow", { limit: 1000 }, 5000),
    top = useGet<TopOfAll>("top", { limit: 1000 }, 5000);
  const ending = useSignal(false);
  const gone = s.trouble?.status === 404;
  return (
    <div class="page" id="session">
      <header>
        <h1>
          Session <code>{label}</code>
        </h1>
        {mayWrite() && user.value && s.data && !gone && (
          <Button danger icon={Unplug} onClick={() => (ending.value = true)}>
            End session…
          </Button>
        )}
      </header>
      {s.trouble && (
        <Note tone={gone ? "warn" : "bad"} icon={TriangleAlert}>
          {s.trouble.message}. <a href={to("sessions")}>All sessions</a>
        </Note>
      )}
      {!s.data && !s.trouble && <Skeleton rows={6} />}
      {s.data && (
        <>
          <Client s={s.data.session} top={top.data} />
          <Parts of={s.data.parts} label={label} />
          <Ephemerals s={s.data.session} />
          <SlowOnes of={slow} label={label} />
        </>
      )}
      {ending.value && (
        <OrderDialog
          order={orderOf("end_session")}
          preset={{ session: label }}
          close={() => {
            ending.value = false;
            s.refresh();
          }}
        />
      )}
    </div>
  );
}

const states = {
  connected: "Connected",
  disconnected: "The client is connected to no server. The session ends with its timeout unless it comes back.",
  unknown: "Not known: not every server has answered.",
};

/** What the requests of a session cost, as far as it is among those that cost most. */
function costOf(label: string, top: TopOfAll | null): string {
  if (!top) return "Not known";
  if (!top.enabled) return "Not recorded: warren.top.enabled is false";
  if (!top.everything) return "Needs the login of the super user";
  const e = top.sessions.find((e) => e.key === label);
  return e
    ? `${short(e.requests)}/s, ${bytes(e.bytes)}/s, ${millis(e.ms)} of each second`
    : "Not among the sessions that cause most";
}

function Client({ s, top }: { s: One; top: TopOfAll | null }) {
  return (
    <section class="card" aria-label="Client">
      <dl class="kv paired body">
        {s.address && (
          <>
            <dt>Client</dt>
            <dd>
              <code>{s.address}</code>
            </dd>
          </>
        )}
        <dt>State</dt>
        <dd>
          {states[s.state]}
          {s.connected !== null && (
            <>
              {s.server !== null && s.server >= 0 && ` to server ${s.server}`} since <Time at={s.connected} />
            </>
          )}
        </dd>
        <dt>Timeout</dt>
        <dd>{millis(s.timeoutMs)}</dd>
        {s.state === "connected" && (
          <>
            <dt>Packets</dt>
            <dd>
              {count(s.received)} received, {count(s.sent)} sent, {count(s.outstanding)} pending
            </dd>
            <dt>Latency</dt>
            <dd>
              {told(s.meanMs, wholeMs)} mean, {told(s.maxMs, wholeMs)} max
            </dd>
            <dt>Requests</dt>
            <dd>{costOf(s.label, top)}</dd>
            <dt>Watches</dt>
            <dd>{s.watches === null ? "Not known" : of(s.watches, "path")}</dd>
          </>
        )}
      </dl>
    </section>
  );
}

/** What the session is in a recipe: the state of its first member. */
const stateIn = (r: Recipe, label: string) => r.members.find((m) => m.session === label);

function Parts({ of: parts, label }: { of: Part[]; label: string }) {
  return (
    <section class="card" id="parts">
      <header>
        <h2>Locks and recipes</h2>
      </header>
      {parts.length === 0 ? (
        <Empty icon={Key} title="No locks held or awaited" />
      ) : (
        <Table
          label="Locks and recipes"
          rows={parts}
          keyOf={(p) => p.recipe.path + p.recipe.kind}
          columns={[
            {
              name: "Path",
              wrap: true,
              by: (p) => p.recipe.path,
              cell: ({ recipe: r }) => (
                <a href={to("recipe", { path: r.path })}>
                  <Name of={r.path} />
                </a>
              ),
            },
            {
              name: "Kind",
              plain: true,
              by: (p) => p.recipe.kind,
              cell: ({ recipe: r }) => kindOf(r),
            },
            {
              name: "This session",
              plain: true,
              by: (p) => stateIn(p.recipe, label)?.state ?? "",
              cell: (p) => {
                const m = stateIn(p.recipe, label);
                if (!m) return <Tag>Further back</Tag>;
                return <Tag tone={stateTones[m.state] ?? ""}>{capital(m.state)}</Tag>;
              },
            },
            {
              name: "Since",
              by: (p) => stateIn(p.recipe, label)?.since ?? 0,
              cell: (p) => <Time at={stateIn(p.recipe, label)?.since ?? 0} relative />,
            },
            { name: "Others", plain: true, cell: (p) => <Others p={p} label={label} /> },
          ]}
        />
      )}
    </section>
  );
}

/** For whom the session waits, or how many wait for it. */
function Others({ p, label }: { p: Part; label: string }) {
  const m = stateIn(p.recipe, label);
  if (m?.state === "waits") {
    const holders = p.recipe.members.filter((h) => h.state !== "waits" && h.session !== label);
    return (
      <span class="row">
        {holders.length > 0 && "Behind"}
        {holders.slice(0, 3).map((h) => (
          <SessionLink key={h.path} label={h.session} />
        ))}
        {holders.length > 3 && <span class="faint">and {count(holders.length - 3)} more that hold it</span>}
        {p.before > 0 && (
          <span class="faint">and {p.before === 1 ? "one that waits" : `${count(p.before)} that wait`}</span>
        )}
      </span>
    );
  }
  return p.waiting > 0 ? <>{waiting(p.waiting)}</> : <span class="faint">Nobody waits</span>;
}

function Ephemerals({ s }: { s: One }) {
  return (
    <section class="card" id="ephemerals">
      <header>
        <h2>Ephemeral znodes</h2>
        <span class="small faint">{count(s.ephemerals)}</span>
      </header>
      {s.ephemerals === 0 ? (
        <Empty icon={Key} title="No ephemeral znodes" />
      ) : (
        <ul class="body">
          {s.paths.map((p) => (
            <li key={p}>
              <a href={to("tree", { path: p })}>
                <Name of={p} />
              </a>
            </li>
          ))}
          {s.ephemerals > s.paths.length && (
            <li class="faint">{count(s.ephemerals - s.paths.length)} that are not shown</li>
          )}
        </ul>
      )}
    </section>
  );
}

function SlowOnes({ of: slow, label }: { of: Resource<SlowPage>; label: string }) {
  const all = slow.data?.operations.filter((o) => o.session === label) ?? [];
  const longest = Math.max(...all.map((o) => o.ms), 1e-9);
  return (
    <section class="card" id="slow-ones">
      <header>
        <h2>Slow operations</h2>
        {slow.data && slow.data.thresholdMs > 0 && (
          <span class="small faint">{millis(slow.data.thresholdMs)} or longer</span>
        )}
      </header>
      {slow.data && <Silent of={slow.data.servers} />}
      {!slow.data ? (
        <Empty icon={Timer} title="Not known">
          {slow.trouble?.message}
        </Empty>
      ) : slow.data.thresholdMs <= 0 ? (
        <Empty icon={Timer} title="Nothing is recorded">
          <code>warren.slow.threshold</code> is 0.
        </Empty>
      ) : !slow.data.everything ? (
        <Empty icon={Lock} title="No read permission">
          Sessions of slow operations need the login of the super user.
        </Empty>
      ) : all.length === 0 ? (
        <Empty icon={Timer} title="No slow operations of this session" />
      ) : (
        <Table
          label="Slow operations"
          rows={all}
          keyOf={(o) => [o.server, o.began, o.zxid, o.path, o.ms].join()}
          columns={[
            { name: "Started", by: (o) => o.began, cell: (o) => <Time at={o.began} /> },
            { name: "Operation", plain: true, by: (o) => o.operation, cell: (o) => o.operation },
            ...(slow.data.servers.length > 1 ? [serverColumn<SlowOperation>()] : []),
            { name: "Duration", num: true, by: (o) => o.ms, cell: (o) => millis(o.ms) },
            { name: "Stages", plain: true, cell: (o) => <StageBar of={o.stages} share={o.ms / longest} /> },
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
          ]}
        />
      )}
    </section>
  );
}
