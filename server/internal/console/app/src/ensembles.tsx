// Other ensembles side by side, as one of their servers describes each.
import { Network, TriangleAlert } from "lucide";
import type { Ensemble } from "./api";
import { toneOf } from "./facts";
import { bytes, capital, count, of, versionOf } from "./format";
import { Dot, Empty, Note, Skeleton, Tag, useGet, type Tone } from "./parts";

interface Other {
  name: string;
  trouble: string;
  ensemble: Ensemble;
}

export function Ensembles() {
  const all = useGet<{ ensembles: Other[] | null }>("ensembles", {}, 5000);
  const list = all.data?.ensembles ?? [];
  return (
    <div class="page" id="ensembles">
      <header>
        <h1>Ensembles</h1>
      </header>
      {all.trouble && (
        <Note tone="bad" icon={TriangleAlert}>
          {all.trouble.message}
        </Note>
      )}
      {!all.data && !all.trouble && <Skeleton rows={5} />}
      {all.data && list.length === 0 && (
        <div class="card">
          <Empty icon={Network} title="No other ensembles are configured">
            <code>
              warren.console.ensembles=
              <wbr />
              name=http://host:8080
            </code>{" "}
            in zoo.cfg names the admin ports of their servers.
          </Empty>
        </div>
      )}
      <div class="servers">
        {list.map((o, i) => (
          <One key={i} o={o} />
        ))}
      </div>
    </div>
  );
}

function One({ o }: { o: Other }) {
  const e = o.ensemble,
    problems = e?.problems ?? [],
    members = e?.members ?? [];
  const tones = problems.map(toneOf);
  const tone: Tone = o.trouble || tones.includes("bad") ? "bad" : tones.includes("warn") ? "warn" : "good";
  const here = members.filter((m) => ["leader", "follower", "observer"].includes(m.state)).length;
  return (
    <section class="card server" aria-label={o.name}>
      <div class="name">
        <Dot tone={tone} label={tone === "good" ? "Healthy" : "Needs a look"} />
        <b class="cut">{o.name}</b>
        {!o.trouble && <Tag tone={tone}>{problems.length === 0 ? "Healthy" : of(problems.length, "finding")}</Tag>}
      </div>
      {o.trouble ? (
        <p class="c-bad">Not known: {o.trouble}.</p>
      ) : (
        <>
          <dl>
            <div>
              <dt>Leader</dt>
              <dd>{e.leader != null ? "Server " + e.leader : members.length ? "None" : "Alone"}</dd>
            </div>
            <div>
              <dt>Servers seen</dt>
              <dd>{members.length ? `${here} of ${members.length}` : "1"}</dd>
            </div>
            <div>
              <dt>Sessions</dt>
              <dd>{count(e.sessions)}</dd>
            </div>
            <div>
              <dt>Znodes</dt>
              <dd>{count(e.znodes)}</dd>
            </div>
            <div>
              <dt>Data</dt>
              <dd>{bytes(e.dataBytes)}</dd>
            </div>
            <div>
              <dt>Version</dt>
              <dd>{versionOf(e) || "–"}</dd>
            </div>
          </dl>
          {problems.map((p, j) => (
            <p key={j} class="small" style={{ marginTop: "8px" }}>
              <Tag tone={toneOf(p)}>{capital(p.severity || "finding")}</Tag> {capital(p.text)}
              {p.remedy && <span class="dim">. {capital(p.remedy)}.</span>}
            </p>
          ))}
          <div class="at">
            <span>Answered by: {e.state}</span>
          </div>
        </>
      )}
    </section>
  );
}
