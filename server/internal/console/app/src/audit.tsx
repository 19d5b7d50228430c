// Who has changed what: the ends of the servers' audit logs.
import { useSignal } from "@preact/signals";
import { Lock, LogIn, ScrollText, TriangleAlert } from "lucide";
import { identity, type Audit as Page, type Trouble } from "./api";
import { capital, Name, of, plain, Time } from "./format";
import { Empty, LogInButton, Note, Segments, Skeleton, Tag, type Tone } from "./parts";
import { param, to } from "./router";
import { serverColumn, Table, type Column } from "./table";
import { alter, chosen, idOf, ServerPick, Unheard, useEach } from "./which";

const results: Record<string, Tone> = { failure: "bad", invoked: "warn" };

/** What stands in the place of a page that only those see who may see all. */
export function Behind({ of: r, what }: { of: { data: unknown; trouble: Trouble | null }; what: string }) {
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

type Entry = Page["entries"][number] & { server: number; key: string };

/** Who it was; who has not logged in is only known by the address, which has its own column. */
const userOf = (e: Entry) => (e.user === e.ip ? "" : e.user);

/** How many lines are asked for: of one server, or of each of several. */
const linesOfOne = 1000,
  linesOfEach = 500;

export function Audit() {
  const which = chosen("all"),
    many = which.length > 1;
  const limit = many ? linesOfEach : linesOfOne;
  const [told] = useEach<Page>(
    identity.value?.user ? "audit" : null,
    which,
    () => ({ limit }),
    many ? 10_000 : 5000,
    String(limit),
  );
  const find = useSignal(param("find")),
    result = param("which", "all") as "all" | "failure";
  const word = find.value.trim().toLowerCase();
  const heard = told.filter((t) => t.data !== null);
  const files = heard.filter((t) => t.data!.enabled && t.data!.file !== "-");
  const all: Entry[] = files
    .flatMap((t) =>
      t.data!.entries.map((e, i) => ({ ...e, server: idOf(t.which), key: [idOf(t.which), e.at, i].join() })),
    )
    .sort((a, b) => b.at - a.at);
  const rows = all.filter(
    (e) =>
      (result === "all" || e.result !== "success") &&
      (!word || [e.user, e.ip, e.session, e.operation, e.znode].join(" ").toLowerCase().includes(word)),
  );
  const off = heard.filter((t) => !t.data!.enabled);
  // Where nothing is heard, the first reason stands for all.
  const first = heard[0] ?? told.find((t) => t.trouble) ?? told[0];
  const servers: Column<Entry>[] = many ? [serverColumn()] : [];
  const more: Column<Entry>[] = rows.some((e) => e.detail)
    ? [{ name: "More", wrap: true, plain: true, cell: (e) => <span class="dim small">{plain(e.detail)}</span> }]
    : [];
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
            alter("audit", { find: find.value });
          }}
        />
        <ServerPick page="audit" usual="all" />
        <Segments
          label="Which lines"
          value={result}
          of={[
            ["all", "All"],
            ["failure", "Failed"],
          ]}
          pick={(v) => alter("audit", { which: v === "all" ? "" : v })}
        />
      </header>
      <Behind of={first} what="The audit log" />
      {heard.length > 0 && <Unheard of={told} />}
      {heard.length > 0 && off.length === heard.length && (
        <div class="card">
          <Empty icon={ScrollText} title="Nothing is recorded">
            <code>audit.enable=true</code> in zoo.cfg records who changes which znode, from the next start on.
          </Empty>
        </div>
      )}
      {heard.length > off.length && files.length === 0 && (
        <div class="card">
          <Empty icon={ScrollText} title="The audit log goes to standard output">
            It cannot be read again here. <code>audit.file</code> names a file instead.
          </Empty>
        </div>
      )}
      {files.length > 0 && (
        <>
          <p class="dim">
            {many ? (
              <>The newest {of(all.length, "line")} of all servers: each records what its own clients did.</>
            ) : (
              <>
                The newest {of(all.length, "line")} of <code>{plain(files[0].data!.file)}</code>, with what the
                clients of this server did.
              </>
            )}
            {files.length < heard.length &&
              ` Server ${heard
                .filter((t) => !files.includes(t))
                .map((t) => idOf(t.which))
                .join(", ")}: no file with an audit log.`}
          </p>
          <div class="card">
            {rows.length === 0 ? (
              <Empty icon={ScrollText} title={word || result !== "all" ? "No line matches" : "No lines yet"} />
            ) : (
              <Table
                label="Audit log"
                rows={rows}
                keyOf={(e) => e.key}
                columns={[
                  { name: "Time", by: (e) => e.at, cell: (e) => <Time at={e.at} /> },
                  ...servers,
                  {
                    name: "Result",
                    plain: true,
                    by: (e) => e.result,
                    cell: (e) =>
                      e.result === "success" ? (
                        <span class="dim">Success</span>
                      ) : (
                        <Tag tone={results[e.result] ?? ""}>{capital(plain(e.result))}</Tag>
                      ),
                  },
                  { name: "Operation", plain: true, by: (e) => e.operation, cell: (e) => plain(e.operation) },
                  { name: "User", by: userOf, cell: (e) => <Name of={userOf(e) || "–"} /> },
                  { name: "Address", by: (e) => e.ip, cell: (e) => (e.ip ? <code>{plain(e.ip)}</code> : "–") },
                  {
                    name: "Znode",
                    wrap: true,
                    plain: true,
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
                  { name: "Session", minor: true, cell: (e) => (e.session ? <code>{plain(e.session)}</code> : "–") },
                  ...more,
                ]}
              />
            )}
          </div>
        </>
      )}
    </div>
  );
}
