// Changing the ensemble: who votes now and who would, and how many may fail, before anything is done.
import { useSignal } from "@preact/signals";
import { useLayoutEffect } from "preact/hooks";
import { Eye, TriangleAlert } from "lucide";
import { send } from "./api";
import { AsCommands, call, shell } from "./commands";
import { seen } from "./facts";
import { of, plain } from "./format";
import { Field, Note, say, Skeleton, Tag, useTry } from "./parts";
import { Reviewed } from "./reviewed";

interface Voting {
  voters: number;
  observers: number;
  quorum: number | null;
  mayFail: number | null;
  lines: string[];
}
interface ServerChange {
  id: number;
  before: string;
  after: string;
  voted: boolean;
  votes: boolean;
}
interface Plan {
  version: string;
  now: Voting;
  after: Voting;
  servers: ServerChange[];
}
type Role = "voter" | "observer" | "leaves";

/** The line of a server with another role. */
const withRole = (line: string, role: Role) =>
  line.replace(/:(participant|observer)(?=;|$)/, role === "voter" ? ":participant" : ":observer");

export function Reconfigure({ close }: { close: () => void }) {
  const now = useSignal<Plan | null>(null),
    plan = useSignal<Plan | null>(null);
  const roles = useSignal<Record<number, Role>>({}),
    joining = useSignal("");
  const [busy, trouble, attempt] = useTry();
  useLayoutEffect(() => {
    void attempt(async () => {
      now.value = await send<Plan>("POST", "reconfiguration/plan", { join: "", leave: "", version: "" });
    });
  }, []);
  const usual = (s: ServerChange): Role => (s.voted ? "voter" : "observer");
  const changed = (now.value?.servers ?? []).filter((s) => (roles.value[s.id] ?? usual(s)) !== usual(s));
  const leaving = changed.filter((s) => roles.value[s.id] === "leaves").map((s) => String(s.id));
  const lines = joining.value.split(/[\n,]/).flatMap((l) => l.trim() || []);
  const join = [
    ...changed
      .filter((s) => roles.value[s.id] !== "leaves")
      .map((s) => `server.${s.id}=${withRole(s.before, roles.value[s.id])}`),
    ...lines,
  ].join(",");
  const body = { join, leave: leaving.join(","), version: now.value?.version ?? "" };
  const change = (fn: () => void) => {
    plan.value = null;
    fn();
  };
  const submit = () =>
    attempt(async () => {
      if (!plan.value) {
        plan.value = await send<Plan>("POST", "reconfiguration/plan", body);
        return;
      }
      try {
        await send("POST", "reconfiguration", { ...body, version: plan.value.version });
      } catch (e) {
        plan.value = null;
        throw e;
      }
      say("The ensemble has its new configuration");
      close();
    });
  const p = plan.value;
  return (
    <Reviewed
      wide
      title="Change the servers of the ensemble"
      close={close}
      submit={submit}
      does="Reconfigure"
      danger
      isSeen={p !== null}
      busy={busy}
      trouble={trouble}
      mayLook={!!join || !!body.leave}
    >
      {!now.value && !trouble && <Skeleton rows={4} />}
      {now.value && (
        <>
          <div class="scroll-x" tabIndex={0} role="region" aria-label="Servers and their roles">
            <table class="t">
              <thead>
                <tr>
                  <th scope="col">Server</th>
                  <th scope="col">Role</th>
                  <th scope="col">Line</th>
                </tr>
              </thead>
              <tbody>
                {now.value.servers.map((s) => (
                  <tr key={s.id}>
                    <th scope="row">{s.id}</th>
                    <td>
                      <select
                        class="input"
                        aria-label={`Role of server ${s.id}`}
                        value={roles.value[s.id] ?? usual(s)}
                        onChange={(e) => {
                          const role = e.currentTarget.value as Role;
                          change(() => (roles.value = { ...roles.value, [s.id]: role }));
                        }}
                      >
                        <option value="voter">Votes</option>
                        <option value="observer">Observes</option>
                        <option value="leaves">Leaves</option>
                      </select>
                    </td>
                    <td>
                      <code>{plain(s.before)}</code>
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
          <Field
            label="Servers to add or change"
            hint="One per line, such as server.4=host:2888:3888;2181. A server that joins must already be running."
          >
            {(id) => (
              <textarea
                id={id}
                class="input mono"
                rows={2}
                spellcheck={false}
                value={joining.value}
                onInput={(e) => {
                  const text = e.currentTarget.value;
                  change(() => (joining.value = text));
                }}
              />
            )}
          </Field>
        </>
      )}
      {p && <Preview p={p} />}
      {(join || body.leave) && (
        <AsCommands
          of={[
            [
              "the command",
              shell(
                "reconfig",
                "-v",
                BigInt(body.version).toString(16),
                ...(join ? ["-add", join] : []),
                ...(body.leave ? ["-remove", body.leave] : []),
              ),
            ],
            ["the call of the API", call("POST", "reconfiguration", {}, body)],
          ]}
        />
      )}
    </Reviewed>
  );
}

/** Who votes by a configuration, in a sentence. */
const sentence = (v: Voting) =>
  `${of(v.voters, "voter")}${v.observers ? `, ${of(v.observers, "observer")}` : ""}` +
  (v.quorum === null ? "; groups and weights decide" : `; a quorum is ${v.quorum}, so ${v.mayFail} may fail`);

function Preview({ p }: { p: Plan }) {
  const roleOf = (line: string, votes: boolean) => (!line ? "–" : votes ? "votes" : "observes");
  const voters = p.servers.filter((s) => s.votes);
  const up = voters.filter((s) => seen.value.find((o) => o.id === s.id)?.up).length;
  const fewer = p.after.mayFail !== null && p.now.mayFail !== null && p.after.mayFail < p.now.mayFail;
  const even = p.after.quorum !== null && p.after.voters % 2 === 0;
  return (
    <div class="stack" id="preview">
      <dl class="kv">
        <dt>Now</dt>
        <dd>{sentence(p.now)}.</dd>
        <dt>After</dt>
        <dd>{sentence(p.after)}.</dd>
        <dt>Up now</dt>
        <dd>
          {up} of the {of(p.after.voters, "voter")} that there would be, as far as this server knows.
        </dd>
      </dl>
      {p.after.quorum !== null && up < p.after.quorum && (
        <Note tone="warn" icon={TriangleAlert}>
          The leader will refuse this unless {p.after.quorum} of the new voters are connected and up to date.
        </Note>
      )}
      {fewer && (
        <Note tone="warn" icon={TriangleAlert}>
          Fewer servers may fail than now: {p.after.mayFail} instead of {p.now.mayFail}.
        </Note>
      )}
      {even && !fewer && (
        <Note tone="info" icon={Eye}>
          {p.after.voters} voters stand no more failures than {p.after.voters - 1}.
        </Note>
      )}
      <table class="t" aria-label="Who votes now and after">
        <thead>
          <tr>
            <th scope="col">Server</th>
            <th scope="col">Now</th>
            <th scope="col">After</th>
          </tr>
        </thead>
        <tbody>
          {p.servers.map((s) => {
            const before = roleOf(s.before, s.voted),
              after = roleOf(s.after, s.votes);
            return (
              <tr key={s.id}>
                <th scope="row">{s.id}</th>
                <td>{before}</td>
                <td>
                  {s.before === s.after ? after : <Tag tone="warn">{after === "–" ? "leaves" : after}</Tag>}
                  {before === after && s.before !== s.after && " with another line"}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}
