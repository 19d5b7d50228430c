// What every page knows: the ensemble, asked every few seconds, and what follows from it.
import { computed, effect, signal } from "@preact/signals";
import { get, Trouble, type Ensemble, type Member, type Problem, type ServerState, type Servers } from "./api";
import { plain } from "./format";
import type { Tone } from "./parts";

export const ensemble = signal<Ensemble | null>(null);
export const servers = signal<Servers | null>(null);
export const lost = signal<string>("");
/** When the server last told how the ensemble is. */
export const heardAt = signal(0);
/** Whether visitors with a login may change znodes and steer. */
export const mayWrite = () => ensemble.value?.writes ?? false;

// For how many ms the server may say nothing: one that is stopped takes connections, and never answers.
const patience = 10_000;

async function refresh(): Promise<void> {
  if (document.hidden) return;
  const late = AbortSignal.timeout(patience);
  try {
    const others = get<Servers>("servers", {}, late);
    others.catch(() => {}); // it is awaited below, unless the other has failed
    ensemble.value = await get<Ensemble>("ensemble", {}, late);
    heardAt.value = Date.now();
    lost.value = "";
    servers.value = await others;
  } catch (e) {
    lost.value = e instanceof Trouble ? e.message : "The server does not answer";
  }
}

export function keepFresh(): void {
  const loop = async () => {
    await refresh();
    setTimeout(loop, 3000);
  };
  void loop();
  document.addEventListener("visibilitychange", () => void refresh());
}

/** One server of the ensemble: what the configuration, the leader and the server itself say. */
export interface Seen {
  id: number;
  member: Member;
  state: ServerState | null;
  up: boolean | null;
  role: string;
  why: string;
}

export const seen = computed<Seen[]>(() => {
  const e = ensemble.value;
  if (!e) return [];
  return e.members.map((member) => {
    const state = servers.value?.servers.find((s) => s.id === member.id) ?? null;
    const answers = state !== null && state.trouble === "";
    const known = member.state !== "unknown";
    const away = member.state === "absent" || member.state === "joining";
    const gone = e.problems.some((p) => p.check === "unreachable" && p.server === member.id);
    const up = member.self
      ? e.serving || answers
      : answers
        ? true
        : known
          ? !away
          : state?.heardAt || gone
            ? false
            : null;
    const role = member.self
      ? e.state
      : away
        ? member.state
        : answers
          ? state.state
          : known
            ? member.state
            : state?.silentSince
              ? "absent"
              : "unknown";
    return { id: member.id, member, state, up, role, why: state?.trouble ?? "" };
  });
});

export interface Verdict {
  tone: Tone;
  sentence: string;
  detail: string;
}

/** How a finding is coloured. */
export const toneOf = (p: Problem): Tone =>
  p.severity === "critical" || p.severity === "error" ? "bad" : p.severity === "notice" ? "info" : "warn";

const words = ["none", "one", "two", "three", "four", "five", "six", "seven"];

/** The state of the ensemble in one sentence. */
export const verdict = computed<Verdict | null>(() => {
  const e = ensemble.value;
  if (!e) return lost.value ? { tone: "bad", sentence: "This server does not answer", detail: lost.value } : null;
  const worst = e.problems.some((p) => p.severity === "critical" || p.severity === "error")
    ? "bad"
    : e.problems.some((p) => p.severity === "warning")
      ? "warn"
      : "good";
  const n = e.problems.length;
  const findings =
    n === 0
      ? "No findings."
      : worst === "good"
        ? n === 1
          ? "One notice."
          : `${n} notices.`
        : n === 1
          ? "One finding needs attention."
          : `${n} findings need attention.`;
  if (lost.value) return { tone: "bad", sentence: "This server does not answer", detail: "What is shown is old." };
  if (e.members.length === 0) {
    return e.serving
      ? { tone: worst, sentence: "Standalone server, serving clients", detail: findings }
      : { tone: "bad", sentence: "Standalone server, not serving clients", detail: findings };
  }
  const voters = seen.value.filter((s) => s.member.role === "participant");
  const up = voters.filter((s) => s.up).length;
  const unsure = voters.filter((s) => s.up === null).length;
  const parts = [unsure ? `${voters.length} voters` : `${up} of ${voters.length} voters are up`];
  if (e.leader === null) {
    const answer = voters.filter((s) => s.member.self || (s.state?.heardAt && !s.state.silentSince)).length;
    return {
      tone: "bad",
      sentence: `No leader: ${answer} of ${voters.length} voters ${answer === 1 ? "answers" : "answer"}`,
      detail: "Writes wait until a leader is elected. " + findings,
    };
  }
  parts.push(`server ${e.leader} leads`);
  let tone: Tone = worst;
  if (!unsure && up < voters.length && tone === "good") tone = "warn";
  if (!unsure && !servers.value?.weighted && voters.length > 1) {
    const spare = up - (Math.floor(voters.length / 2) + 1);
    parts.push(spare <= 0 ? "none may fail" : `${words[spare] ?? spare} may fail`);
    if (spare <= 0 && tone === "good") tone = "warn";
  }
  if (!e.serving) tone = "bad";
  return {
    tone,
    sentence: parts.join(", ") + (e.serving ? "" : "; this server is not serving clients"),
    detail: findings,
  };
});

/** The name of the ensemble: that of its configuration, else where its page is. */
export const ensembleName = computed(() => (ensemble.value?.name ? plain(ensemble.value.name) : location.host));

effect(() => {
  const v = verdict.value;
  if (v) document.documentElement.dataset.state = v.tone;
});
