// The past: the tree at a moment, and what changed between two.
import { ArrowLeftRight, FileText, History, LogIn, TriangleAlert } from "lucide";
import { identity, type Children, type Znode } from "./api";
import { detect, hexOf, laidOut } from "./data";
import { bytes, capital, count, Crumbs, joined, Name, of, plain, TimeWithUTC } from "./format";
import { Button, Empty, LogInButton, Field, Note, Skeleton, Tag, tones, useGet, useTyped } from "./parts";
import { amend, go, param, to } from "./router";
import { Table } from "./table";

interface Past {
  zxid: string;
  at: number;
  snapshot: string;
  exists: boolean;
  znode: Znode;
  children: Children;
}
interface Change {
  path: string;
  kind: string;
  what: string[] | null;
  before: string;
  after: string;
}
interface Difference {
  from: string;
  to: string;
  changed: number;
  cut: boolean;
  changes: Change[];
}

const hint = "A zxid such as 0x500000047, or a time such as 2026-01-31T12:00:00Z";

/** Moments that are asked for most, as buttons: the text of each is what the field takes. */
function Moments({ pick }: { pick: (at: string) => void }) {
  const spans: [string, number][] = [
    ["10 minutes ago", 10],
    ["1 hour ago", 60],
    ["6 hours ago", 360],
    ["Yesterday", 1440],
  ];
  return (
    <>
      {spans.map(([name, minutes]) => (
        <Button
          key={name}
          small
          onClick={() => pick(new Date(Date.now() - minutes * 60_000).toISOString().slice(0, 19) + "Z")}
        >
          {name}
        </Button>
      ))}
    </>
  );
}

function NeedsLogin() {
  return (
    <div class="card">
      <Empty icon={LogIn} title="The past needs the login of the super user" action={<LogInButton />}>
        The past includes znodes that ACLs hide today.
      </Empty>
    </div>
  );
}

export function TimeTravel() {
  const at = param("at"),
    path = param("path", "/"),
    after = param("after"),
    typed = useTyped(at),
    where = useTyped(path);
  const p = useGet<Past>(at && identity.value?.user ? "past" : null, {
    at,
    path,
    limit: 1000,
    after: after || undefined,
  });
  return (
    <div class="page" id="past">
      <header>
        <h1>Time travel</h1>
      </header>
      <form
        class="row wrap"
        onSubmit={(e) => {
          e.preventDefault();
          go("past", { at: typed.value, path: where.value });
        }}
      >
        <div class="grow">
          <Field label="Moment">
            {(id) => (
              <input
                id={id}
                name="at"
                class="input mono"
                placeholder="Zxid or time"
                spellcheck={false}
                value={typed.value}
                onInput={(e) => (typed.value = e.currentTarget.value)}
              />
            )}
          </Field>
        </div>
        <div class="grow">
          <Field label="Znode">
            {(id) => (
              <input
                id={id}
                name="path"
                class="input mono"
                spellcheck={false}
                value={where.value}
                onInput={(e) => (where.value = e.currentTarget.value)}
              />
            )}
          </Field>
        </div>
        <Button primary type="submit" disabled={!typed.value}>
          Show
        </Button>
      </form>
      {!identity.value?.user ? (
        <NeedsLogin />
      ) : !at ? (
        <div class="card">
          <Empty
            icon={History}
            title="See the tree as it was"
            action={
              <Moments
                pick={(moment) => {
                  typed.value = moment;
                  go("past", { at: moment, path: where.value });
                }}
              />
            }
          >
            {hint}. The past reaches back to the oldest snapshot that this server keeps.
          </Empty>
        </div>
      ) : p.trouble ? (
        <Note tone="bad" icon={TriangleAlert}>
          {p.trouble.message}
        </Note>
      ) : !p.data ? (
        <Skeleton rows={6} />
      ) : (
        <>
          <Note tone="info" icon={History}>
            The tree after txn <code>{p.data.zxid}</code>
            {p.data.at > 0 && (
              <>
                , <TimeWithUTC at={p.data.at} />
              </>
            )}
            , from <code>{p.data.snapshot}</code>.{" "}
            <a href={to("difference", { from: p.data.zxid, under: path })}>What has changed since?</a>{" "}
            <a href={to("tree", { path })}>Open it in the tree</a>
          </Note>
          <Crumbs path={path} href={(path) => to("past", { at, path })} />
          {!p.data.exists ? (
            <div class="card">
              <Empty icon={History} title="This znode did not exist then" />
            </div>
          ) : (
            <div class="cards">
              <section class="card">
                <header>
                  <h2>Children</h2>
                  <Tag>{count(p.data.children.total)}</Tag>
                </header>
                {p.data.children.children.length === 0 ? (
                  <Empty icon={History} title={after ? "No more children" : "No children"} />
                ) : (
                  <Table
                    key={after}
                    label="Children"
                    rows={p.data.children.children}
                    keyOf={(c) => c.name}
                    columns={[
                      {
                        name: "Name",
                        wrap: true,
                        cell: (c) => (
                          <a href={to("past", { at, path: joined(path, c.name) })}>
                            <Name of={c.name} />
                          </a>
                        ),
                      },
                      { name: "Children", num: true, by: (c) => c.children, cell: (c) => count(c.children) },
                      { name: "Size", num: true, by: (c) => c.bytes, cell: (c) => bytes(c.bytes) },
                    ]}
                  />
                )}
                {(after || p.data.children.after) && (
                  <p class="row small body">
                    {after && <a href={to("past", { at, path })}>First children</a>}
                    {p.data.children.after && (
                      <a href={to("past", { at, path, after: p.data.children.after })}>More children</a>
                    )}
                  </p>
                )}
              </section>
              <section class="card">
                <header>
                  <h2>Data</h2>
                  <Tag>Version {p.data.znode.stat.version}</Tag>
                </header>
                {!p.data.znode.data ? (
                  <Empty icon={FileText} title="No data" />
                ) : (
                  <pre class="code" id="text" role="region" tabIndex={0} aria-label="Data">
                    {p.data.znode.encoding === "utf-8"
                      ? laidOut(p.data.znode, detect(p.data.znode))
                      : hexOf(p.data.znode)}
                  </pre>
                )}
              </section>
            </div>
          )}
        </>
      )}
    </div>
  );
}

const dataOf = (text: string) => <code class="text">{plain(text) || "–"}</code>;

export function Compare() {
  const from = param("from"),
    until = param("to"),
    under = param("under", "/");
  const a = useTyped(from),
    b = useTyped(until),
    c = useTyped(under);
  const d = useGet<Difference>(from && identity.value?.user ? "difference" : null, {
    from,
    to: until || undefined,
    under,
    limit: 1000,
  });
  const field = (label: string, value: typeof a, placeholder: string, name: string) => (
    <div class="grow">
      <Field label={label}>
        {(id) => (
          <input
            id={id}
            name={name}
            class="input mono"
            spellcheck={false}
            placeholder={placeholder}
            value={value.value}
            onInput={(e) => (value.value = e.currentTarget.value)}
          />
        )}
      </Field>
    </div>
  );
  return (
    <div class="page" id="difference">
      <header>
        <h1>Compare moments</h1>
      </header>
      <form
        class="row wrap"
        onSubmit={(e) => {
          e.preventDefault();
          amend("difference", { from: a.value, to: b.value, under: c.value });
        }}
      >
        {field("From", a, "Zxid or time", "from")}
        {field("To", b, "Now", "to")}
        {field("Below", c, "/", "under")}
        <Button primary type="submit" disabled={!a.value}>
          Compare
        </Button>
      </form>
      {!identity.value?.user ? (
        <NeedsLogin />
      ) : !from ? (
        <div class="card">
          <Empty
            icon={ArrowLeftRight}
            title="See what has changed between two moments"
            action={
              <Moments
                pick={(moment) => {
                  a.value = moment;
                  amend("difference", { from: moment, to: b.value, under: c.value });
                }}
              />
            }
          >
            {hint}.
          </Empty>
        </div>
      ) : d.trouble ? (
        <Note tone="bad" icon={TriangleAlert}>
          {d.trouble.message}
        </Note>
      ) : !d.data ? (
        <Skeleton rows={6} />
      ) : (
        <>
          <p class="dim">
            {of(d.data.changed, "znode differs", "znodes differ")} between txn <code>{d.data.from}</code> and{" "}
            <code>{d.data.to}</code>.
            {d.data.changed > d.data.changes.length && ` The first ${count(d.data.changes.length)} are listed.`}
            {d.data.cut && " More znodes were touched than are compared."}
          </p>
          <div class="card">
            {d.data.changes.length === 0 ? (
              <Empty icon={History} title="Nothing differs" />
            ) : (
              <Table
                label="Changes"
                rows={d.data.changes}
                keyOf={(r) => r.path}
                columns={[
                  {
                    name: "Znode",
                    wrap: true,
                    by: (r) => r.path,
                    cell: (r) => (
                      <a href={to("tree", { path: r.path, tab: "history" })}>
                        <Name of={r.path} />
                      </a>
                    ),
                  },
                  {
                    name: "Change",
                    by: (r) => r.kind,
                    plain: true,
                    cell: (r) => (
                      <span class="row">
                        <Tag tone={tones[r.kind] ?? ""}>{capital(r.kind)}</Tag>
                        <span class="small dim">{(r.what ?? []).join(", ")}</span>
                      </span>
                    ),
                  },
                  { name: "Before", wrap: true, cell: (r) => r.kind !== "created" && dataOf(r.before) },
                  { name: "After", wrap: true, cell: (r) => r.kind !== "deleted" && dataOf(r.after) },
                ]}
              />
            )}
          </div>
        </>
      )}
    </div>
  );
}
