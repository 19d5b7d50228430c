// The sessions of the ensemble, with the clients that have them and the servers to which these are connected.
import { useSignal } from "@preact/signals";
import { useLayoutEffect } from "preact/hooks";
import { LockKeyhole, TriangleAlert, Users } from "lucide";
import { get, user, type Session, type Sessions as Page } from "./api";
import { count, millis, of, Time } from "./format";
import { Button, Empty, Note, SessionLink, Skeleton, Tag, useTry } from "./parts";
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
  const find = useSignal(param("find"));
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
          class="input look"
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
                        <a href={to("session", { label: s.label })}>
                          {s.address ? (
                            <code>{s.address}</code>
                          ) : s.state === "unknown" ? (
                            "Not known"
                          ) : (
                            "Not connected"
                          )}
                        </a>
                        {s.secure && <Tag icon={LockKeyhole}>TLS</Tag>}
                        {s.state === "disconnected" && <Tag tone="warn">expires</Tag>}
                      </span>
                    ),
                  },
                  { name: "Session", plain: true, cell: (s) => <SessionLink label={s.label} /> },
                  ...(page.value!.servers.length > 1 ? [{ name: "Server", by: serverOf, cell: serverOf }] : []),
                  {
                    name: "Connected",
                    by: (s) => s.connected ?? 0,
                    cell: (s) => <span class="nowrap">{s.connected ? <Time at={s.connected} relative /> : "–"}</span>,
                  },
                  {
                    name: "Timeout",
                    num: true,
                    minor: true,
                    by: (s) => s.timeoutMs,
                    cell: (s) => millis(s.timeoutMs),
                  },
                  { name: "Requests", num: true, by: (s) => s.received ?? -1, cell: (s) => told(s.received) },
                  { name: "Pending", num: true, by: (s) => s.outstanding ?? -1, cell: (s) => told(s.outstanding) },
                  { name: "Last operation", minor: true, cell: (s) => operations[s.lastOp] ?? (s.lastOp || "–") },
                  {
                    name: "Max latency",
                    num: true,
                    by: (s) => s.maxMs ?? -1,
                    cell: (s) => <span title={`${told(s.meanMs, wholeMs)} mean`}>{told(s.maxMs, wholeMs)}</span>,
                  },
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
    </div>
  );
}

/** The server to which the client of a session is connected. */
const serverOf = (s: Session) =>
  s.server !== null ? String(s.server) : s.state === "disconnected" ? "None" : "Not known";

/** A figure in a table; a dash if no server has told it. */
export const told = (n: number | null, written: (n: number) => string = count) => (n === null ? "–" : written(n));

/** A latency in whole milliseconds. */
export const wholeMs = (ms: number) => (ms < 1 ? "< 1 ms" : millis(ms));
