// Who has changed what: the end of this server's audit log.
import { useSignal } from "@preact/signals";
import { Lock, LogIn, ScrollText, TriangleAlert } from "lucide";
import { identity, type Audit as Page } from "./api";
import { capital, Name, of, plain, Time } from "./format";
import { Empty, LogInButton, Note, Segments, Skeleton, Tag, useGet, type Resource, type Tone } from "./parts";
import { amend, param, to } from "./router";
import { Table } from "./table";

const results: Record<string, Tone> = { failure: "bad", invoked: "warn" };

/** What stands in the place of a page that only those see who may see all. */
export function Behind({ of: r, what }: { of: Resource<unknown>; what: string }) {
  if (!identity.value?.user) {
    return (
      <div class="card">
        <Empty icon={LogIn} title={what + " needs the login of the super user"} action={<LogInButton />} />
      </div>
    );
  }
  if (r.trouble?.status === 403) {
    return (
      <div class="card">
        <Empty icon={Lock} title="No read permission">
          {plain(r.trouble.message)}.
        </Empty>
      </div>
    );
  }
  if (r.trouble)
    return (
      <Note tone="bad" icon={TriangleAlert}>
        {r.trouble.message}
      </Note>
    );
  return r.data ? null : <Skeleton rows={6} />;
}

export function Audit() {
  const a = useGet<Page>(identity.value?.user ? "audit" : null, { limit: 1000 }, 5000);
  const find = useSignal(param("find")),
    which = param("which", "all") as "all" | "failure";
  const word = find.value.trim().toLowerCase();
  const rows = (a.data?.entries ?? []).filter(
    (e) =>
      (which === "all" || e.result !== "success") &&
      (!word || [e.user, e.ip, e.session, e.operation, e.znode].join(" ").toLowerCase().includes(word)),
  );
  const look = (find: string, which: string) => amend("audit", { find, which: which === "all" ? "" : which });
  return (
    <div class="page" id="audit">
      <header>
        <h1>Audit log</h1>
        <input
          class="input look"
          type="search"
          placeholder="User, address or znode"
          aria-label="Filter the audit log"
          value={find.value}
          onInput={(e) => {
            find.value = e.currentTarget.value;
            look(find.value, which);
          }}
        />
        <Segments
          label="Which lines"
          value={which}
          of={[
            ["all", "All"],
            ["failure", "Failed"],
          ]}
          pick={(v) => look(find.value, v)}
        />
      </header>
      <Behind of={a} what="The audit log" />
      {a.data && !a.data.enabled && (
        <div class="card">
          <Empty icon={ScrollText} title="Nothing is recorded">
            <code>audit.enable=true</code> in zoo.cfg records who changes which znode, from the next start on.
          </Empty>
        </div>
      )}
      {a.data?.enabled && a.data.file === "-" && (
        <div class="card">
          <Empty icon={ScrollText} title="The audit log goes to standard output">
            It cannot be read again here. <code>audit.file</code> names a file instead.
          </Empty>
        </div>
      )}
      {a.data?.enabled && a.data.file !== "-" && (
        <>
          <p class="dim">
            The newest {of(a.data.entries.length, "line")} of <code>{plain(a.data.file)}</code>, as this server has
            written it. Every server has its own.
          </p>
          <div class="card">
            {rows.length === 0 ? (
              <Empty icon={ScrollText} title={word || which !== "all" ? "No line matches" : "No lines yet"} />
            ) : (
              <Table
                label="Audit log"
                rows={rows}
                keyOf={(e) => a.data!.entries.indexOf(e) + " " + e.at}
                columns={[
                  { name: "Time", by: (e) => e.at, cell: (e) => <Time at={e.at} /> },
                  {
                    name: "Result",
                    by: (e) => e.result,
                    cell: (e) =>
                      e.result === "success" ? (
                        <span class="dim">Success</span>
                      ) : (
                        <Tag tone={results[e.result] ?? ""}>{capital(plain(e.result))}</Tag>
                      ),
                  },
                  { name: "Operation", by: (e) => e.operation, cell: (e) => plain(e.operation) },
                  { name: "User", by: (e) => e.user, cell: (e) => <Name of={e.user || "–"} /> },
                  { name: "Address", by: (e) => e.ip, cell: (e) => (e.ip ? <code>{plain(e.ip)}</code> : "–") },
                  {
                    name: "Znode",
                    wrap: true,
                    by: (e) => e.znode,
                    cell: (e) =>
                      e.znode ? (
                        <a href={to("tree", { path: e.znode })}>
                          <Name of={e.znode} />
                        </a>
                      ) : (
                        "–"
                      ),
                  },
                  { name: "Session", cell: (e) => (e.session ? <code>{plain(e.session)}</code> : "–") },
                  { name: "More", wrap: true, cell: (e) => <span class="dim small">{plain(e.detail)}</span> },
                ]}
              />
            )}
          </div>
        </>
      )}
    </div>
  );
}
