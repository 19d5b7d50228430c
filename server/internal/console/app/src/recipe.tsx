// One lock, election, queue or the like: its members in their order, and who has led or held it before.
import { useSignal } from "@preact/signals";
import { History, Key, TriangleAlert } from "lucide";
import { identity, type Holder, type Recipe as One, type Recipes, type Term, type Terms } from "./api";
import { Behind } from "./audit";
import { ago, baseOf, capital, count, duration, Name, plain, Time } from "./format";
import { Button, Empty, Note, SessionLink, Skeleton, stateTones, Tag, useGet } from "./parts";
import { kindOf } from "./recipes";
import { param, to } from "./router";
import { Table } from "./table";

/** The kinds that one member at a time leads or holds. */
const exclusive = new Set(["election", "lock"]);

export function Recipe() {
  const path = param("path", "/");
  const all = useGet<Recipes>("recipes", { under: path, limit: 1 }, 3000);
  const r = all.data?.recipes.find((r) => r.path === path);
  return (
    <div class="page" id="recipe">
      <header>
        <h1 class="cut" title={plain(path)}>
          <Name of={path} />
        </h1>
        {r && <Tag tone="info">{kindOf(r)}</Tag>}
        <a class="btn" href={to("tree", { path })}>
          Open in the tree
        </a>
      </header>
      {all.trouble && (
        <Note tone="bad" icon={TriangleAlert}>
          {all.trouble.message}
        </Note>
      )}
      {!all.data && !all.trouble && <Skeleton rows={6} />}
      {r && (
        <p class="dim">
          {r.layout}
          {r.note && ". " + r.note}
        </p>
      )}
      {all.data && (
        <div class="card">
          {r && r.members.length > 0 ? (
            <Members r={r} />
          ) : (
            <Empty icon={Key} title="Nobody holds this and nobody waits">
              Recipes are recognized by names and data, and this znode has no members.
            </Empty>
          )}
        </div>
      )}
      {r && r.total > r.members.length && (
        <p class="small faint">
          The first {count(r.members.length)} of {count(r.total)} members.
        </p>
      )}
      {all.data && (!r || exclusive.has(r.kind)) && <Former key={path} path={path} />}
    </div>
  );
}

function Members({ r }: { r: One }) {
  return (
    <Table
      label="Members"
      rows={r.members.map((m, i) => ({ ...m, place: i + 1 }))}
      keyOf={(m) => m.path}
      columns={[
        { name: "Place", by: (m) => m.place, cell: (m) => m.place },
        {
          name: "State",
          plain: true,
          by: (m) => m.state,
          cell: (m) => <Tag tone={stateTones[m.state] ?? ""}>{capital(m.state)}</Tag>,
        },
        { name: "Session", plain: true, by: (m) => m.session, cell: (m) => <SessionLink label={m.session} /> },
        { name: "Since", by: (m) => m.since, cell: (m) => <Time at={m.since} relative /> },
        { name: "Payload", wrap: true, plain: true, by: (m) => m.text, cell: (m) => plain(m.text) || "–" },
        { name: "Znode", minor: true, cell: (m) => <ZnodeOf m={m} /> },
      ]}
    />
  );
}

const ZnodeOf = ({ m }: { m: Holder }) => (
  <a href={to("tree", { path: m.path })}>
    <Name of={baseOf(m.path)} />
  </a>
);

/** Who has led or held it before. That is read from the log, and so only when somebody asks. */
function Former({ path }: { path: string }) {
  const asked = useSignal(false);
  const t = useGet<Terms>(asked.value && identity.value?.user ? "terms" : null, { path });
  return (
    <section class="card" id="terms">
      <header>
        <h2>Terms</h2>
        {!asked.value && (
          <Button small icon={History} onClick={() => (asked.value = true)}>
            Read the log
          </Button>
        )}
      </header>
      {!asked.value ? (
        <Empty icon={History} title="See who has led or held it, and for how long">
          The log of this server tells, as far back as it reaches.
        </Empty>
      ) : !t.data ? (
        <div class="body">
          <Behind of={t} what="The log" />
        </div>
      ) : (
        <>
          {t.data.terms.length === 0 ? (
            <Empty icon={History} title="Nobody has led or held it" />
          ) : (
            <Table
              label="Terms"
              rows={t.data.terms}
              keyOf={(term) => term.znode + term.began}
              columns={[
                { name: "Session", cell: (term) => <SessionLink label={term.session} /> },
                { name: "Payload", wrap: true, by: (term) => term.text, cell: (term) => plain(term.text) || "–" },
                {
                  name: "Began",
                  by: (term) => term.began,
                  cell: (term) => (term.began ? <Time at={term.began} /> : <span class="faint">Not known</span>),
                },
                {
                  name: "Ended",
                  by: (term) => term.ended || Infinity,
                  cell: (term) => (term.ended ? <Time at={term.ended} /> : <Tag tone="good">Now</Tag>),
                },
                { name: "For", num: true, by: lasted, cell: (term) => written(term) },
              ]}
            />
          )}
          <p class="small faint body">
            From the log of this server, since txn <code>{t.data.from || "–"}</code>.
            {t.data.cut && " There are older terms."} Read {ago(t.at)}.
          </p>
        </>
      )}
    </section>
  );
}

/** How long a term has lasted, -1 if that is not known. */
const lasted = (t: Term) => (t.began ? (t.ended || Date.now()) - t.began : -1);
const written = (t: Term) => (t.began ? duration(lasted(t)) : "Not known");
