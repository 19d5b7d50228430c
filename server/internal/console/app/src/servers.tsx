// The servers, and the orders that operators give to each. Those for another server are passed on.
import { AsCommands, call, command } from "./commands";
import { signal, useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { Eye, LifeBuoy, LogIn, Network, ScrollText, ShieldAlert, TriangleAlert } from "lucide";
import { demandLogin, identity, save, send, wanted, type Steering } from "./api";
import { ensemble, seen, servers, type Seen } from "./facts";
import { bytes, capital, clock, count, duration, millis, of, plain, Time, unknown, versionOf } from "./format";
import { orderOf, orders, titled, type Order } from "./orders";
import { Button, digits, Dot, Empty, Field, Note, say, Tag, useTry } from "./parts";
import { tight } from "./prefs";
import { Reconfigure } from "./reconfigure";
import { Reviewed } from "./reviewed";
import { amend, param } from "./router";
import { Table, type Column } from "./table";
import { allServers, idOf, named, passedTo, Unheard, unasked, useEach, type Told, type Which } from "./which";

/** A server that stands alone, as the servers of an ensemble are shown. */
function alone(): Seen[] {
  const e = ensemble.value;
  if (!e) return [];
  const member = {
    id: e.serverId,
    role: "participant",
    state: e.state,
    self: true,
    addresses: [],
    clientAddress: "",
  };
  return [
    {
      id: e.serverId,
      member: { ...member, zxid: e.zxid, lag: 0 },
      state: null,
      up: e.serving,
      role: e.state,
      why: "",
    },
  ];
}

/** How many clients a server had when it was first seen to drain, by its id. */
const drainedFrom = signal<Record<number, number>>({});

/** The clients that a drained server still has; null if it is not drained. */
function leftAt(s: Seen, steering: Steering | null): number | null {
  const draining = steering ? steering.drained.draining : !!s.state?.draining;
  if (!draining) return null;
  return steering ? steering.drained.clients : (s.state?.connections ?? null);
}

/** A figure with a smaller one below it. */
const Two = ({ children, more }: { children: ComponentChildren; more: ComponentChildren }) => (
  <span class="stacked">
    <span>{children}</span>
    <span class="small faint">{more}</span>
  </span>
);

export function Servers() {
  const who = identity.value?.user,
    e = ensemble.value;
  const rows = seen.value.length ? seen.value : alone();
  const solo = seen.value.length === 0;
  const [told, refresh] = useEach<Steering>(who ? "steering" : null, allServers(), () => ({}), 3000);
  const steeringOf = (s: Seen) => told.find((t) => idOf(t.which) === s.id)?.data ?? null;
  const order = orders.find((o) => o.id === param("order"));
  const at = param("at") && Number(param("at")) !== e?.serverId ? Number(param("at")) : null;
  useEffect(() => {
    const from: Record<number, number> = {};
    for (const s of rows) {
      const left = leftAt(s, steeringOf(s));
      if (left !== null) from[s.id] = Math.max(left, drainedFrom.peek()[s.id] ?? 0);
    }
    if (JSON.stringify(from) !== JSON.stringify(drainedFrom.peek())) drainedFrom.value = from;
  });
  const changing = useSignal(false);
  const login = !!order && !!e?.writes && identity.value !== null && !who;
  useEffect(() => {
    if (login) void demandLogin("Orders need a login."); // a link may have led here
  }, [login]);
  const refused = told.find((t) => t.which === null)?.trouble;
  const steers = told.some((t) => t.data !== null);
  const given: Column<Seen>[] = e?.writes
    ? [
        {
          name: "Orders",
          wrap: !tight.value,
          plain: true,
          cell: (s) => <RowOrders s={s} left={leftAt(s, steeringOf(s))} />,
        },
      ]
    : [];
  return (
    <div class="page" id="steering">
      <header>
        <h1>Servers and orders</h1>
        {e?.writes && !solo && (
          <Button
            icon={Network}
            onClick={async () => {
              if (who || (await demandLogin("Changing the ensemble needs a login."))) changing.value = true;
            }}
          >
            Change servers…
          </Button>
        )}
        <SupportBundle />
      </header>
      {!e?.writes && e && (
        <Note tone="info" icon={ShieldAlert}>
          Orders are switched off: <code>warren.console.writes</code> is false.
        </Note>
      )}
      {e?.writes && !who && (
        <Note tone="info" icon={LogIn}>
          Orders need the login of the super user.{" "}
          <Button small onClick={() => (wanted.value = { why: "", then: () => {} })}>
            Log in
          </Button>
        </Note>
      )}
      {refused && (
        <Note tone="warn" icon={TriangleAlert}>
          {refused.message}
        </Note>
      )}
      <section class="card">
        <Table
          label="Servers"
          rows={rows}
          keyOf={(s) => String(s.id)}
          columns={[
            {
              name: "Server",
              cell: (s) => (
                <span class="row nowrap">
                  <Dot
                    tone={s.up === null ? "" : s.up ? "good" : "bad"}
                    label={s.up === null ? "Not known" : s.up ? "Up" : "Away"}
                  />
                  <Two more={<code>{s.member.clientAddress || s.member.addresses[0] || location.host}</code>}>
                    {solo ? "This server" : `Server ${s.id}`}
                    {s.member.self && !solo && <span class="small faint"> · this one</span>}
                  </Two>
                </span>
              ),
            },
            ...(tight.value ? given : []),
            {
              name: "State",
              plain: true,
              cell: (s) => {
                const left = leftAt(s, steeringOf(s));
                return (
                  <Two more={left === null ? votes(s) : <Draining left={left} from={drainedFrom.value[s.id]} />}>
                    {s.role === "absent" ? "Away" : capital(s.role)}
                  </Two>
                );
              },
            },
            {
              name: "Behind",
              num: true,
              cell: (s) => (
                <Two more={<code>{s.member.zxid || s.state?.zxid || "–"}</code>}>
                  {s.member.lag === null ? unknown : of(s.member.lag, "txn")}
                </Two>
              ),
            },
            {
              name: "Clients",
              num: true,
              cell: (s) => {
                const known = s.state?.heardAt != null ? s.state : solo ? e : null;
                if (!known) return "–";
                const since = s.state?.silentSince;
                return (
                  <Two more={since ? `not known since ${clock(since)}` : `${count(known.outstanding)} pending`}>
                    {count(known.connections)}
                  </Two>
                );
              },
            },
            {
              name: "Uptime",
              num: true,
              cell: (s) => {
                const told = s.state ?? (solo ? e : undefined),
                  version = told ? versionOf(told) : "",
                  uptime = solo ? e?.uptimeMs : s.state?.uptimeMs;
                return <Two more={version || "–"}>{uptime != null ? duration(uptime) : "–"}</Two>;
              },
            },
            ...(steers ? steered(steeringOf) : []),
            ...(tight.value ? [] : given),
          ]}
        />
      </section>
      {steers && <Past told={told} solo={solo} />}
      {changing.value && <Reconfigure close={() => (changing.value = false)} />}
      {order && e?.writes && who && (
        <OrderDialog
          key={order.id + at}
          order={order}
          at={at}
          preset={{ session: param("session"), to: param("to") }}
          close={() => {
            amend("servers");
            refresh();
          }}
        />
      )}
    </div>
  );
}

/** Whether a server votes, and how far away it is. */
const votes = (s: Seen) =>
  (s.member.role === "participant" ? "Votes" : "No vote") +
  (s.state?.roundTripMs != null ? `, ${millis(s.state.roundTripMs)} away` : "");

/** What only a visitor knows that may steer. */
const steered = (of: (s: Seen) => Steering | null): Column<Seen>[] => [
  {
    name: "Log level",
    cell: (s) => {
      const l = of(s)?.log_level;
      if (!l) return "–";
      return (
        <Two
          more={
            l.then ? (
              <>
                {l.then} from <Time at={l.until} />
              </>
            ) : (
              "No time limit"
            )
          }
        >
          {l.level}
        </Two>
      );
    },
  },
  {
    name: "Snapshot",
    num: true,
    cell: (s) => {
      const n = of(s)?.snapshot;
      if (!n) return "–";
      if (!n.zxid) return <Two more="Not written yet">None</Two>;
      return <Two more={n.txns >= 0 ? `${count(n.txns)} txns ago` : "Earlier epoch"}>{bytes(n.bytes)}</Two>;
    },
  },
];

/** How far a drain is. */
function Draining({ left, from }: { left: number; from?: number }) {
  const done = from ? Math.round((100 * (from - left)) / from) : 100;
  return (
    <span class="row nowrap">
      <Tag tone="warn">Draining</Tag>
      {left > 0 && (
        <span class="meter" role="img" aria-label={`${done} % of its clients have gone`} style={{ width: "48px" }}>
          <i style={{ width: done + "%" }} />
        </span>
      )}
      {left > 0 ? `${of(left, "client")} left` : "No clients left"}
    </span>
  );
}

interface Choice {
  order: Order;
  at: Seen;
  params: Record<string, string>;
  /** Why it cannot be given now; "" if it can. */
  why: string;
  label: string;
}

function choicesOf(s: Seen, left: number | null): Choice[] {
  const leader = seen.value.find((o) => o.id === ensemble.value?.leader);
  const choice = (id: string, at: Seen, params: Record<string, string> = {}): Choice => {
    const order = orderOf(id),
      why = at.member.self ? "" : unasked(at.id);
    return {
      order,
      at,
      params,
      why: why && `Server ${at.id} cannot be asked: ${why}`,
      label: `${order.short} ${s.member.self ? "this server" : "server " + s.id}`,
    };
  };
  const all = [left !== null ? "resume" : "drain", "shed", "take_snapshot", "log_level"].map((id) => choice(id, s));
  if (leader && s.member.role === "participant" && seen.value.length > 1) {
    const one = choice("hand_over", leader, { to: String(s.id) }); // the leader does it
    all.unshift(s.id === leader.id ? { ...one, why: "Already the leader" } : one);
  }
  return all;
}

async function begin({ order, at, params }: Choice): Promise<void> {
  if (identity.value?.user || (await demandLogin("Orders need a login."))) {
    amend("servers", { order: order.id, at: at.member.self ? "" : at.id, ...params });
  }
}

/** What may be ordered of a server: buttons in its row, or a menu where there is little room. */
function RowOrders({ s, left }: { s: Seen; left: number | null }) {
  if (s.up === false && !s.member.self)
    return <span class="faint">{tight.value ? "Away" : "No orders while it is away"}</span>;
  const all = choicesOf(s, left);
  if (tight.value)
    return (
      <select
        class="input auto"
        aria-label={`Orders to ${s.member.self ? "this server" : "server " + s.id}`}
        value=""
        onChange={(e) => {
          const chosen = all.find((c) => c.order.id === e.currentTarget.value);
          e.currentTarget.value = "";
          if (chosen) void begin(chosen);
        }}
      >
        <option value="">Order…</option>
        {all.map((c) => (
          <option key={c.order.id} value={c.order.id} disabled={!!c.why}>
            {c.order.short}
          </option>
        ))}
      </select>
    );
  return (
    <span class="row wrap orders">
      {all.map((c) => (
        <Button
          key={c.order.id}
          small
          quiet
          disabled={!!c.why}
          title={c.why}
          aria-label={c.label}
          onClick={() => begin(c)}
        >
          {c.order.short}
        </Button>
      ))}
    </span>
  );
}

/** The orders that the servers were given. */
function Past({ told, solo }: { told: Told<Steering>[]; solo: boolean }) {
  const given = told
    .flatMap((t) => (t.data?.given ?? []).map((g) => ({ ...g, server: idOf(t.which) })))
    .sort((a, b) => b.at - a.at);
  return (
    <section class="card" id="given">
      <header>
        <h2>Orders so far</h2>
        <Unheard of={told} />
        <span class="small faint">
          {solo ? "The newest 50 since the server started" : "The newest 50 of each server since it started"}
        </span>
      </header>
      {given.length === 0 ? (
        <Empty icon={ScrollText} title="No orders yet">
          Dry runs are not listed.
        </Empty>
      ) : (
        <Table
          label="Orders so far"
          rows={given}
          keyOf={(g) => [g.server, g.at, g.order, g.request].join()}
          columns={[
            { name: "Time", by: (g) => g.at, cell: (g) => <Time at={g.at} /> },
            {
              name: "Order",
              plain: true,
              by: (g) => g.order,
              cell: (g) => {
                const known = orders.find(
                  (o) => o.path === g.order && !!o.fixed === g.request.includes('"resume":true'),
                );
                const text = known ? titled(known, solo ? "this server" : `server ${g.server}`) : plain(g.order);
                return <span class="nowrap">{text}</span>;
              },
            },
            {
              name: "Outcome",
              wrap: true,
              plain: true,
              by: (g) => g.refused,
              cell: (g) => (g.refused ? <Refused why={g.refused} /> : <Tag tone="good">Done</Tag>),
            },
            { name: "User", by: (g) => g.user, cell: (g) => plain(g.user) || "–" },
            {
              name: "From",
              by: (g) => g.address,
              cell: (g) => (
                <span class="nowrap">
                  <code>{plain(g.address) || "–"}</code>
                  {g.via && <span class="faint"> by {plain(g.via)}</span>}
                </span>
              ),
            },
            { name: "Duration", num: true, by: (g) => g.tookMs, cell: (g) => millis(g.tookMs) },
            { name: "Request", minor: true, cell: (g) => <code>{plain(g.request) || "–"}</code> },
          ]}
        />
      )}
    </section>
  );
}

const Refused = ({ why }: { why: string }) => (
  <span class="row wrap">
    <Tag tone="bad">Refused</Tag>
    <span class="small">{plain(why)}</span>
  </span>
);

/** Saves what a bug report needs. */
function SupportBundle() {
  const [busy, trouble, attempt] = useTry();
  const day = new Date().toISOString().slice(0, 10);
  const many = seen.value.length > 1;
  const name = `warren-support-${many ? "all" : (ensemble.value?.serverId ?? 0)}-${day}.tar.gz`;
  return (
    <>
      <Button
        icon={LifeBuoy}
        disabled={busy}
        title={
          `State, settings without secrets, findings, metrics and stacks of ${many ? "all servers" : "this server"}, ` +
          "for a bug report"
        }
        onClick={() =>
          attempt(async () => {
            await save(
              many ? "support?all=1" : "support",
              name,
              "A support bundle needs the login of the super user.",
            );
            say("Support bundle saved. It has no passwords and no data of znodes; look at it before you send it.");
          })
        }
      >
        {busy ? "Collecting…" : "Support bundle"}
      </Button>
      {trouble && (
        <span role="alert" class="small">
          {trouble}
        </span>
      )}
    </>
  );
}

/** Tries an order first, and gives it then. */
export function OrderDialog({
  order,
  at = null,
  preset,
  close,
}: {
  order: Order;
  /** The server that carries it out. */
  at?: Which;
  preset?: Record<string, string>;
  close: () => void;
}) {
  const heirs = seen.value.filter((s) => s.id !== idOf(at) && s.member.role === "participant");
  const title = titled(order, named(at));
  const values = useSignal<Record<string, string>>(
    Object.fromEntries(
      order.fields.map((f) => [
        f.name,
        preset?.[f.name] || f.usual || (f.kind === "server" ? String(heirs[0]?.id ?? "") : ""),
      ]),
    ),
  );
  const outcome = useSignal<Record<string, unknown> | null>(null);
  const [busy, trouble, attempt] = useTry();
  const set = (name: string, v: string) => {
    values.value = { ...values.value, [name]: v };
    outcome.value = null;
  };
  useEffect(() => () => (outcome.value = null), []);
  const bodyOf = (dry: boolean) => {
    const body: Record<string, unknown> = { ...order.fixed, dry_run: dry };
    for (const f of order.fields) {
      const v = values.value[f.name];
      if (v !== "") body[f.name] = f.kind === "number" || f.kind === "server" ? Number(v) : v;
    }
    return body;
  };
  const query = { server: passedTo(at) };
  const passedOn: Record<string, string> = query.server === undefined ? {} : { server: String(query.server) };
  const admin =
    passedTo(at) === undefined ? "" : servers.value?.servers.find((s) => s.id === at)?.admin || "HOST:PORT";
  const give = (dry: boolean) =>
    attempt(async () => {
      const body = bodyOf(dry);
      const got = await send<Record<string, unknown>>("POST", "steering/" + order.path, body, query);
      if (dry) {
        outcome.value = got;
        return;
      }
      say(title + ": done");
      close();
    });
  return (
    <Reviewed
      title={title}
      close={close}
      submit={() => give(outcome.value === null)}
      look="Dry run"
      does={order.does}
      danger={order.danger}
      isSeen={outcome.value !== null}
      busy={busy}
      trouble={trouble}
    >
      <p class="dim">{order.about}</p>
      {order.fields.map((f) => (
        <Field key={f.name} label={f.label} hint={f.hint}>
          {(id) =>
            f.kind === "server" ? (
              <select
                id={id}
                class="input"
                value={values.value[f.name]}
                onChange={(e) => set(f.name, e.currentTarget.value)}
              >
                {heirs.map((s) => (
                  <option key={s.id} value={s.id}>
                    Server {s.id}
                  </option>
                ))}
              </select>
            ) : f.kind === "level" ? (
              <select
                id={id}
                class="input"
                value={values.value[f.name]}
                onChange={(e) => set(f.name, e.currentTarget.value)}
              >
                {["debug", "info", "warn", "error"].map((l) => (
                  <option key={l}>{l}</option>
                ))}
              </select>
            ) : (
              <input
                id={id}
                class="input"
                {...(f.kind === "number" ? digits : {})}
                required
                value={values.value[f.name]}
                spellcheck={false}
                onInput={(e) => set(f.name, e.currentTarget.value)}
              />
            )
          }
        </Field>
      ))}
      {outcome.value && (
        <Note tone="info" icon={Eye}>
          <strong>Dry run: nothing has changed yet.</strong>
          <dl class="kv">
            {Object.entries(outcome.value).map(([k, v]) => (
              <>
                <dt>{capital(k.replaceAll("_", " "))}</dt>
                <dd>{typeof v === "boolean" ? (v ? "Yes" : "No") : plain(String(v))}</dd>
              </>
            ))}
          </dl>
        </Note>
      )}
      <AsCommands
        of={[
          ["the command", command(admin, ...order.command(values.value))],
          ["the call of the API", call("POST", "steering/" + order.path, passedOn, bodyOf(false))],
        ]}
      />
    </Reviewed>
  );
}
