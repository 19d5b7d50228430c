// The sessions of the ensemble, with the clients that have them and the servers to which these are connected.
import { useSignal } from "@preact/signals";
import { useLayoutEffect } from "preact/hooks";
import { LockKeyhole, TriangleAlert, Unplug, Users } from "lucide";
import { get, user, type Session, type Sessions as Page } from "./api";
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
    page = useSignal<Page | null>(null);
  const find = useSignal(param("find")),
    chosen = useSignal<Session | null>(null),
    ending = useSignal<string | null>(null);
  const [busy, trouble, attempt] = useTry();
  const load = (on: boolean) =>
    attempt(async () => {
      const looked = find.value.trim();
      const p = await get<Page>("sessions", {
        limit: 1000,
        find: looked || undefined,
        after: on ? page.value?.after : undefined,
      });
      if (looked !== find.value.trim()) return; // more was typed meanwhile
      all.value = on ? [...(all.value ?? []), ...p.sessions] : p.sessions;
      page.value = p;
    });
  useLayoutEffect(() => {
    const soon = setTimeout(() => void load(false), all.value ? 200 : 0);
    return () => clearTimeout(soon);
  }, [user.value, find.value]);
  const word = find.value.trim().toLowerCase();
  const rows = (all.value ?? []).filter((s) => !word || (s.address + " " + s.label).toLowerCase().includes(word));
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
          <div class="row wrap">
            <p class="dim">
              {of(page.value!.total, "session")} in the ensemble{word && `, ${count(page.value!.found)} found`}
            </p>
            {page.value!.servers.length > 1 &&
              page.value!.servers.map((s) => (
                <Tag key={s.id} tone={s.sessions === null ? "warn" : ""} title={s.trouble}>
                  Server {s.id}: {s.sessions === null ? "not known, " + s.trouble : count(s.sessions)}
                </Tag>
              ))}
          </div>
          <div class="card">
            {rows.length === 0 ? (
              <Empty icon={Users} title={word ? "No session matches" : "No client has a session"} />
            ) : (
              <Table
                label="Sessions"
                rows={rows}
                keyOf={(s) => s.label}
                columns={[
                  {
                    name: "Client",
                    by: (s) => s.address,
                    cell: (s) => (
                      <span class="row">
                        <button type="button" class="btn quiet s" onClick={() => (chosen.value = s)}>
                          {s.address ? (
                            <code>{s.address}</code>
                          ) : s.state === "unknown" ? (
                            "Not known"
                          ) : (
                            "Not connected"
                          )}
                        </button>
                        {s.secure && <Tag icon={LockKeyhole}>TLS</Tag>}
                        {s.state === "disconnected" && <Tag tone="warn">expires</Tag>}
                      </span>
                    ),
                  },
                  { name: "Session", cell: (s) => <code>{s.label}</code> },
                  ...(page.value!.servers.length > 1 ? [{ name: "Server", by: serverOf, cell: serverOf }] : []),
                  {
                    name: "Connected",
                    by: (s) => s.connected ?? 0,
                    cell: (s) => <span class="nowrap">{s.connected ? <Time at={s.connected} relative /> : "–"}</span>,
                  },
                  { name: "Timeout", num: true, by: (s) => s.timeoutMs, cell: (s) => millis(s.timeoutMs) },
                  { name: "Received", num: true, by: (s) => s.received ?? -1, cell: (s) => told(s.received) },
                  { name: "Sent", num: true, by: (s) => s.sent ?? -1, cell: (s) => told(s.sent) },
                  { name: "Pending", num: true, by: (s) => s.outstanding ?? -1, cell: (s) => told(s.outstanding) },
                  { name: "Last operation", cell: (s) => operations[s.lastOp] ?? (s.lastOp || "–") },
                  { name: "Mean", num: true, by: (s) => s.meanMs ?? -1, cell: (s) => told(s.meanMs, wholeMs) },
                  { name: "Max", num: true, by: (s) => s.maxMs ?? -1, cell: (s) => told(s.maxMs, wholeMs) },
                  { name: "Watches", num: true, by: (s) => s.watches ?? -1, cell: (s) => told(s.watches) },
                  { name: "Ephemerals", num: true, by: (s) => s.ephemerals, cell: (s) => count(s.ephemerals) },
                ]}
              />
            )}
          </div>
          {page.value!.after > 0 && (
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

/** The server to which the client of a session is connected. */
const serverOf = (s: Session) =>
  s.server !== null ? String(s.server) : s.state === "disconnected" ? "None" : "Not known";

/** A figure in a table; a dash if no server has told it. */
const told = (n: number | null, written: (n: number) => string = count) => (n === null ? "–" : written(n));

/** A latency in whole milliseconds. */
const wholeMs = (ms: number) => (ms < 1 ? "< 1 ms" : millis(ms));

const states = {
  connected: "Connected",
  disconnected: "The client is connected to no server. The session ends with its timeout unless it comes back.",
  unknown: "Not known: not every server has answered.",
};

function Details({ s, close, end }: { s: Session; close: () => void; end: () => void }) {
  return (
    <Dialog
      title={s.address ? "Client " + s.address : "Session " + s.label}
      close={close}
      end={
        <>
          {mayWrite() && user.value && (
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
        <dt>Client</dt>
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
              {count(s.received)} received, {count(s.sent)} sent
            </dd>
            <dt>Latency</dt>
            <dd>
              {told(s.meanMs, wholeMs)} mean, {told(s.maxMs, wholeMs)} max
            </dd>
            <dt>Watches</dt>
            <dd>{count(s.watches)} paths</dd>
          </>
        )}
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
