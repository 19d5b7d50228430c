// The clients that are connected to this server.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { LockKeyhole, TriangleAlert, Unplug, Users } from "lucide";
import { get, identity, type Session, type Sessions as Page } from "./api";
import { mayWrite } from "./znode";
import { count, millis, Name, of, Time } from "./format";
import { OrderDialog } from "./servers";
import { orders } from "./orders";
import { Button, Dialog, Empty, Note, Skeleton, Tag, useTry } from "./parts";
import { Table } from "./table";
import { amend, param, to } from "./router";

// What ZooKeeper's words for operations stand for.
const operations: Record<string, string> = {
  CREA: "create",
  DELE: "delete",
  EXIS: "exists",
  GETD: "getData",
  SETD: "setData",
  GETA: "getACL",
  SETA: "setACL",
  GETC: "getChildren",
  SETW: "setWatches",
  MULT: "multi",
  PING: "ping",
  SYNC: "sync",
  SESS: "connect",
  CLOS: "close",
  NA: "–",
};

export function Sessions() {
  const all = useSignal<Session[] | null>(null),
    total = useSignal(0),
    after = useSignal(0);
  const find = useSignal(param("find")),
    chosen = useSignal<Session | null>(null),
    ending = useSignal<string | null>(null);
  const [busy, trouble, attempt] = useTry();
  const load = (on: boolean) =>
    attempt(async () => {
      const p = await get<Page>("sessions", { limit: 1000, after: on ? after.value : undefined });
      all.value = on ? [...(all.value ?? []), ...p.sessions] : p.sessions;
      total.value = p.total;
      after.value = p.after;
    });
  useEffect(() => void load(false), [identity.value?.user]);
  const word = find.value.trim().toLowerCase();
  const rows = (all.value ?? []).filter(
    (s) => !word || (s.address + " " + s.label + " " + s.lastOp).toLowerCase().includes(word),
  );
  return (
    <div class="page" id="sessions">
      <header>
        <h1>Sessions</h1>
        <input
          class="input"
          style={{ width: "240px" }}
          type="search"
          placeholder="Address or session"
          aria-label="Filter sessions"
          value={find.value}
          onInput={(e) => {
            find.value = e.currentTarget.value;
            amend("sessions", { find: find.value });
          }}
        />
        <Button onClick={() => load(false)} disabled={busy}>
          Refresh
        </Button>
      </header>
      {trouble && (
        <Note tone="bad" icon={TriangleAlert}>
          {trouble}
        </Note>
      )}
      {!all.value && !trouble && <Skeleton rows={6} />}
      {all.value && (
        <>
          <p class="dim">
            {of(total.value, "session")} in the ensemble, {count(all.value.length)}
            {after.value ? " or more" : ""} of clients that are connected to this server.
          </p>
          <div class="card">
            {rows.length === 0 ? (
              <Empty icon={Users} title={word ? "No session matches" : "No client is connected to this server"} />
            ) : (
              <Table
                label="Sessions"
                rows={rows}
                keyOf={(s) => s.label + s.address}
                columns={[
                  {
                    name: "Client",
                    by: (s) => s.address,
                    cell: (s) => (
                      <span class="row">
                        <button type="button" class="btn quiet s" onClick={() => (chosen.value = s)}>
                          <code>{s.address}</code>
                        </button>
                        {s.secure && <Tag icon={LockKeyhole}>TLS</Tag>}
                      </span>
                    ),
                  },
                  { name: "Session", cell: (s) => <code>{s.label}</code> },
                  {
                    name: "Connected",
                    by: (s) => s.connected,
                    cell: (s) => (
                      <span class="nowrap">
                        <Time at={s.connected} relative />
                      </span>
                    ),
                  },
                  { name: "Timeout", num: true, by: (s) => s.timeoutMs, cell: (s) => millis(s.timeoutMs) },
                  { name: "Received", num: true, by: (s) => s.received, cell: (s) => count(s.received) },
                  { name: "Sent", num: true, by: (s) => s.sent, cell: (s) => count(s.sent) },
                  { name: "Pending", num: true, by: (s) => s.outstanding, cell: (s) => count(s.outstanding) },
                  { name: "Last operation", cell: (s) => operations[s.lastOp] ?? s.lastOp },
                  { name: "Mean", num: true, by: (s) => s.meanMs, cell: (s) => millis(s.meanMs) },
                  { name: "Max", num: true, by: (s) => s.maxMs, cell: (s) => millis(s.maxMs) },
                  { name: "Watches", num: true, by: (s) => s.watches, cell: (s) => count(s.watches) },
                  { name: "Ephemerals", num: true, by: (s) => s.ephemerals, cell: (s) => count(s.ephemerals) },
                ]}
              />
            )}
          </div>
          {after.value > 0 && (
            <div>
              <Button onClick={() => load(true)} disabled={busy}>
                Load more
              </Button>
            </div>
          )}
        </>
      )}
      {chosen.value && (
        <Details
          s={chosen.value}
          close={() => (chosen.value = null)}
          end={() => {
            ending.value = chosen.value!.label;
            chosen.value = null;
          }}
        />
      )}
      {ending.value && (
        <OrderDialog
          order={orders.find((o) => o.id === "end_session")!}
          preset={{ session: ending.value }}
          close={() => {
            ending.value = null;
            void load(false);
          }}
        />
      )}
    </div>
  );
}

function Details({ s, close, end }: { s: Session; close: () => void; end: () => void }) {
  return (
    <Dialog
      title={"Client " + s.address}
      close={close}
      end={
        <>
          {mayWrite() && identity.value?.user && (
            <Button danger icon={Unplug} onClick={end}>
              End session…
            </Button>
          )}
          <Button onClick={close}>Close</Button>
        </>
      }
    >
      <dl class="kv">
        <dt>Session</dt>
        <dd>
          <code>{s.label}</code>
        </dd>
        <dt>Connected</dt>
        <dd>
          <Time at={s.connected} />
        </dd>
        <dt>Timeout</dt>
        <dd>{millis(s.timeoutMs)}</dd>
        <dt>Packets</dt>
        <dd>
          {count(s.received)} received, {count(s.sent)} sent
        </dd>
        <dt>Latency</dt>
        <dd>
          {millis(s.meanMs)} mean, {millis(s.maxMs)} max
        </dd>
        <dt>Watches</dt>
        <dd>{count(s.watches)} paths</dd>
        <dt>Ephemeral znodes</dt>
        <dd>
          {s.ephemerals === 0 ? (
            "None"
          ) : (
            <ul>
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
        </dd>
      </dl>
    </Dialog>
  );
}
