// The servers, and the orders that operators give to each: here to the one whose page this is, else at its own console.
import { AsCommands, call, command } from "./commands";
import { signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { ExternalLink, Eye, LifeBuoy, LogIn, Network, ScrollText, ShieldAlert, TriangleAlert } from "lucide";
import { demandLogin, identity, save, send, wanted, type Given, type Steering } from "./api";
import { ensemble, seen, type Seen } from "./facts";
import { bytes, capital, count, duration, millis, of, plain, Time, versionOf } from "./format";
import { orderOf, orders, type Order } from "./orders";
import { Button, Dot, Empty, Field, Icon, Note, say, Tag, useGet, useTry } from "./parts";
import { Reconfigure } from "./reconfigure";
import { Reviewed } from "./reviewed";
import { amend, param } from "./router";
import { Table } from "./table";

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
  const own = s.member.self && steering ? steering.drained : null;
  const draining = own ? own.draining : !!s.state?.draining;
  if (!draining) return null;
  return own ? own.clients : (s.state?.connections ?? null);
}

export function Servers() {
  const who = identity.value?.user;
  const state = useGet<Steering>(who ? "steering" : null, {}, 2000);
  const e = ensemble.value;
  const order = orders.find((o) => o.id === param("order"));
  const rows = seen.value.length ? seen.value : alone();
  const solo = seen.value.length === 0;
  useEffect(() => {
    const from: Record<number, number> = {};
    for (const s of rows) {
      const left = leftAt(s, state.data);
      if (left !== null) from[s.id] = Math.max(left, drainedFrom.peek()[s.id] ?? 0);
    }
    if (JSON.stringify(from) !== JSON.stringify(drainedFrom.peek())) drainedFrom.value = from;
  });
  const changing = useSignal(false);
  const login = !!order && !!e?.writes && identity.value !== null && !who;
  useEffect(() => {
    if (login) void demandLogin("Orders need a login."); // another console may have led here
  }, [login]);
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
      {state.trouble && (
        <Note tone="warn" icon={TriangleAlert}>
          {state.trouble.message}
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
                  {!solo && s.id}
                  {s.member.self && !solo && <Tag>This server</Tag>}
                </span>
              ),
            },
            {
              name: "State",
              cell: (s) => (
                <span class="row nowrap">
                  {s.role === "absent" ? "Away" : capital(s.role)}
                  <Draining left={leftAt(s, state.data)} from={drainedFrom.value[s.id]} />
                </span>
              ),
            },
            ...(e?.writes ? [{ name: "Orders", cell: (s: Seen) => <RowOrders s={s} steering={state.data} /> }] : []),
            {
              name: "Behind",
              num: true,
              cell: (s) => (s.member.lag === null ? "Not known" : count(s.member.lag) + " txns"),
            },
            {
              name: "Round trip",
              num: true,
              cell: (s) => (s.state?.roundTripMs != null ? millis(s.state.roundTripMs) : "–"),
            },
            {
              name: "Clients",
              num: true,
              cell: (s) => (s.state && !s.state.trouble ? count(s.state.connections) : "–"),
            },
            {
              name: "Pending",
              num: true,
              cell: (s) => (s.state && !s.state.trouble ? count(s.state.outstanding) : "–"),
            },
            {
              name: "Uptime",
              num: true,
              cell: (s) => (s.state?.uptimeMs != null ? duration(s.state.uptimeMs) : "–"),
            },
            { name: "Version", cell: (s) => (s.state?.version ? versionOf(s.state.version) : "–") },
            { name: "Last txn", cell: (s) => <code>{s.member.zxid || s.state?.zxid || "–"}</code> },
            { name: "Votes", cell: (s) => (s.member.role === "participant" ? "Yes" : "No") },
            { name: "For clients", cell: (s) => <code>{s.member.clientAddress || "–"}</code> },
            { name: "Between servers", cell: (s) => <code>{s.member.addresses.join(" ") || "–"}</code> },
          ]}
        />
      </section>
      {state.data && (
        <section class="stack" aria-labelledby="own">
          <h2 id="own">This server</h2>
          <dl class="numbers">
            <div>
              <dt>Clients</dt>
              <dd>{state.data.drained.draining ? "Draining" : "Accepted"}</dd>
              <dd class="more">{count(state.data.drained.clients)} connected</dd>
            </div>
            <div>
              <dt>Log level</dt>
              <dd>{state.data.log_level.level}</dd>
              <dd class="more">
                {state.data.log_level.then ? (
                  <>
                    {state.data.log_level.then} from <Time at={state.data.log_level.until} />
                  </>
                ) : (
                  "until it is changed"
                )}
              </dd>
            </div>
            <div>
              <dt>Newest snapshot</dt>
              <dd>{state.data.snapshot.zxid ? bytes(state.data.snapshot.bytes) : "None"}</dd>
              <dd class="more">
                {state.data.snapshot.zxid ? <code>{state.data.snapshot.zxid}</code> : "none was written yet"}
                {state.data.snapshot.txns >= 0 && state.data.snapshot.zxid
                  ? `, ${count(state.data.snapshot.txns)} txns ago`
                  : ""}
              </dd>
            </div>
          </dl>
        </section>
      )}
      {state.data && <Past given={state.data.given} />}
      {changing.value && <Reconfigure close={() => (changing.value = false)} />}
      {order && e?.writes && who && (
        <OrderDialog
          order={order}
          preset={{ session: param("session"), to: param("to") }}
          close={() => {
            amend("servers");
            state.refresh();
          }}
        />
      )}
    </div>
  );
}

/** How far a drain is. */
function Draining({ left, from }: { left: number | null; from?: number }) {
  if (left === null) return null;
  const done = from ? Math.round((100 * (from - left)) / from) : 100;
  return (
    <>
      <Tag tone="warn">Draining</Tag>
      {left > 0 && (
        <span class="meter" role="img" aria-label={`${done} % of its clients have gone`} style={{ width: "64px" }}>
          <i style={{ width: done + "%" }} />
        </span>
      )}
      <span class="small faint">{left > 0 ? `${of(left, "client")} left` : "no clients left"}</span>
    </>
  );
}

/** What may be ordered of a server, as buttons of its row. Another server is given its orders at its own console. */
function RowOrders({ s, steering }: { s: Seen; steering: Steering | null }) {
  if (s.up === false && !s.member.self) return <span class="faint">Not while it is away</span>;
  const leader = seen.value.find((o) => o.id === ensemble.value?.leader);
  const all: [Order, Seen | undefined, Record<string, string>][] = [];
  if (leader && s.id !== leader.id && s.member.role === "participant") {
    all.push([orderOf("hand_over"), leader, { to: String(s.id) }]); // the leader does it
  }
  const draining = leftAt(s, steering) !== null;
  for (const id of [draining ? "resume" : "drain", "shed", "take_snapshot", "log_level"]) {
    all.push([orderOf(id), s, {}]);
  }
  return (
    <span class="row nowrap orders">
      {all.map(([order, at, params]) => (
        <RowOrder key={order.id} order={order} at={at} of={s} params={params} />
      ))}
    </span>
  );
}

function RowOrder({
  order,
  at,
  of: s,
  params,
}: {
  order: Order;
  at?: Seen;
  of: Seen;
  params: Record<string, string>;
}) {
  const text = order.short,
    label = `${order.short} ${s.member.self ? "this server" : "server " + s.id}`;
  if (at?.member.self) {
    return (
      <Button
        small
        quiet
        aria-label={label}
        onClick={async () => {
          if (identity.value?.user || (await demandLogin("Orders need a login."))) {
            amend("servers", { order: order.id, ...params });
          }
        }}
      >
        {text}
      </Button>
    );
  }
  if (!at?.state?.admin) {
    return (
      <Button small quiet disabled title={`The admin address of server ${at?.id ?? s.id} is not known here`}>
        {text}
      </Button>
    );
  }
  const there = new URLSearchParams({ order: order.id, ...params });
  return (
    <a
      class="btn quiet s"
      href={`${location.protocol}//${at.state.admin}/console/#/servers?${there}`}
      title={`At the console of server ${at.id}, ${at.state.admin}`}
      aria-label={`${label}, at the console of server ${at.id}`}
    >
      {text}
      <Icon of={ExternalLink} />
    </a>
  );
}

/** Orders that this server was given. */
function Past({ given }: { given: Given[] }) {
  return (
    <section class="card" id="given">
      <header>
        <h2>Orders so far</h2>
        <span class="small faint">The newest 50 since this server started</span>
      </header>
      {given.length === 0 ? (
        <Empty icon={ScrollText} title="No orders yet">
          Dry runs are not listed.
        </Empty>
      ) : (
        <Table
          label="Orders so far"
          rows={given}
          keyOf={(g) => g.at + g.order + g.request}
          columns={[
            { name: "Time", by: (g) => g.at, cell: (g) => <Time at={g.at} /> },
            {
              name: "Order",
              by: (g) => g.order,
              cell: (g) => orders.find((o) => o.path === g.order && !o.fixed)?.title ?? plain(g.order),
            },
            {
              name: "Outcome",
              wrap: true,
              by: (g) => g.refused,
              cell: (g) => (g.refused ? <Refused why={g.refused} /> : <Tag tone="good">Done</Tag>),
            },
            { name: "User", by: (g) => g.user, cell: (g) => plain(g.user) || "–" },
            { name: "From", by: (g) => g.address, cell: (g) => <code>{plain(g.address) || "–"}</code> },
            { name: "Took", num: true, by: (g) => g.tookMs, cell: (g) => millis(g.tookMs) },
            { name: "Request", cell: (g) => <code>{plain(g.request) || "–"}</code> },
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
  const name = `warren-support-${ensemble.value?.serverId ?? 0}-${day}.tar.gz`;
  return (
    <>
      <Button
        icon={LifeBuoy}
        disabled={busy}
        title="State, settings without secrets, findings, metrics and stacks of this server, for a bug report"
        onClick={() =>
          attempt(async () => {
            await save("support", name, "A support bundle needs the login of the super user.");
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
  preset,
  close,
}: {
  order: Order;
  preset?: Record<string, string>;
  close: () => void;
}) {
  const values = useSignal<Record<string, string>>(
    Object.fromEntries(
      order.fields.map((f) => [
        f.name,
        preset?.[f.name] ||
          f.usual ||
          (f.kind === "server"
            ? String(seen.value.find((s) => !s.member.self && s.member.role === "participant")?.id ?? "")
            : ""),
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
  const give = (dry: boolean) =>
    attempt(async () => {
      const body = bodyOf(dry);
      const got = await send<Record<string, unknown>>("POST", "steering/" + order.path, body);
      if (dry) {
        outcome.value = got;
        return;
      }
      say(order.title + ": done");
      close();
    });
  return (
    <Reviewed
      title={order.title}
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
                {seen.value
                  .filter((s) => !s.member.self && s.member.role === "participant")
                  .map((s) => (
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
                inputMode={f.kind === "number" ? "numeric" : "text"}
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
                <dt>{k.replaceAll("_", " ")}</dt>
                <dd>{plain(String(v))}</dd>
              </>
            ))}
          </dl>
        </Note>
      )}
      <AsCommands
        of={[
          ["the command", command(...order.command(values.value))],
          ["the call of the API", call("POST", "steering/" + order.path, {}, bodyOf(false))],
        ]}
      />
    </Reviewed>
  );
}
