// The servers, and the orders that operators give to the one whose page this is.
import { AsCommands, call, command } from "./commands";
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { Eye, LifeBuoy, LogIn, ShieldAlert, TriangleAlert } from "lucide";
import { demandLogin, identity, save, send, wanted, type Steering } from "./api";
import { ensemble, seen } from "./facts";
import { bytes, capital, count, duration, millis, plain, Time, versionOf } from "./format";
import { orders, type Order } from "./orders";
import { Button, Dialog, Dot, Empty, Field, Note, say, Tag, useGet, useTry } from "./parts";
import { amend, param } from "./router";
import { Table } from "./table";

export function Servers() {
  const who = identity.value?.user;
  const state = useGet<Steering>(who ? "steering" : null, {}, 3000);
  const asked = param("order");
  const e = ensemble.value;
  const order = orders.find((o) => o.id === asked);
  return (
    <div class="page" id="steering">
      <header>
        <h1 class="grow">Servers and orders</h1>
        <SupportBundle />
      </header>
      <section class="card">
        {seen.value.length === 0 ? (
          <Empty icon={ShieldAlert} title="This server stands alone" />
        ) : (
          <Table
            label="Servers"
            rows={seen.value}
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
                    {s.id}
                    {s.member.self && <Tag>this</Tag>}
                  </span>
                ),
              },
              { name: "State", cell: (s) => (s.role === "absent" ? "Away" : capital(s.role)) },
              {
                name: "Behind",
                num: true,
                cell: (s) => (s.member.lag === null ? "Not known" : count(s.member.lag) + " txns"),
              },
              { name: "Last txn", cell: (s) => <code>{s.member.zxid || s.state?.zxid || "–"}</code> },
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
              { name: "Votes", cell: (s) => (s.member.role === "participant" ? "Yes" : "No") },
              { name: "For clients", cell: (s) => <code>{s.member.clientAddress || "–"}</code> },
              { name: "Between servers", cell: (s) => <code>{s.member.addresses.join(" ")}</code> },
            ]}
          />
        )}
      </section>
      <section class="stack" aria-labelledby="orders">
        <h2 id="orders">Orders to this server</h2>
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
        {state.data && (
          <dl class="numbers" style={{ gridTemplateColumns: "repeat(auto-fit, minmax(180px, 1fr))" }}>
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
        )}
        <ul class="card orders">
          {orders.map((o) => (
            <li key={o.id}>
              <div class="grow">
                <h3>{o.title}</h3>
                <p class="dim small">{o.about}</p>
              </div>
              <Button
                danger={o.danger}
                disabled={!e?.writes}
                onClick={async () => {
                  if (who || (await demandLogin("Orders need a login."))) amend("servers", { order: o.id });
                }}
              >
                {o.does}…
              </Button>
            </li>
          ))}
        </ul>
      </section>
      {order && e?.writes && who && (
        <OrderDialog
          order={order}
          preset={{ session: param("session") }}
          close={() => {
            amend("servers");
            state.refresh();
          }}
        />
      )}
    </div>
  );
}

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
    <Dialog
      title={order.title}
      close={close}
      submit={() => give(outcome.value === null)}
      end={
        <>
          <Button onClick={close}>Cancel</Button>
          {outcome.value === null ? (
            <Button primary type="submit" icon={Eye} disabled={busy}>
              {busy ? "Trying…" : "Dry run"}
            </Button>
          ) : (
            <Button primary={!order.danger} danger={order.danger} type="submit" disabled={busy}>
              {busy ? "Working…" : order.does}
            </Button>
          )}
        </>
      }
    >
      <p class="dim">{order.about}</p>
      {trouble && (
        <Note tone="bad" icon={TriangleAlert}>
          {trouble}
        </Note>
      )}
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
    </Dialog>
  );
}
