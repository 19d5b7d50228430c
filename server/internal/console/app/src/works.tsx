// Changes of many znodes: first the plan, then the change, if it is still the one that was shown.
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { Eye, TriangleAlert } from "lucide";
import { send, type Quota } from "./api";
import { AsCommands, call, shell } from "./commands";
import { bytes, Name, of, parentOf, plain } from "./format";
import { digits, Field, Note, say, useGet, useTry } from "./parts";
import { Reviewed } from "./reviewed";
import { go } from "./router";
import { refreshTree } from "./tree";

export type Kind = "delete" | "copy" | "move" | "import" | "quota";

interface Plan {
  znodes: number;
  bytes: number;
  paths: string[];
  ephemerals: string[];
  sessions: string[];
  refused: { path: string; why: string }[];
  batches: number;
  seal: string;
}

const titles: Record<Kind, string> = {
  delete: "Delete the subtree",
  copy: "Copy the subtree",
  move: "Move the subtree",
  import: "Import below",
  quota: "Set a quota",
};
const does: Record<Kind, string> = {
  delete: "Delete",
  copy: "Copy",
  move: "Move",
  import: "Import",
  quota: "Set quota",
};

/** A number of a limit; nothing stands for none. */
const limit = (text: string) => (text.trim() === "" ? -1 : Number(text));

/** The same with warren shell, which has no command of its own for some of them. */
function commandOf(kind: Kind, path: string, to: string, file: string, limits: Record<string, string> | null) {
  const copied = [shell("export", path, "subtree.json"), shell("import", "subtree.json", to)];
  const flags = { count: "-n", countHard: "-N", bytes: "-b", bytesHard: "-B" };
  switch (kind) {
    case "delete":
      return shell("deleteall", path);
    case "copy":
      return copied.join(" && ");
    case "move":
      return [...copied, shell("deleteall", path)].join(" && ");
    case "import":
      return shell("import", file || "FILE", to);
  }
  const set = Object.entries(flags).flatMap(([name, flag]) => {
    const text = limits?.[name]?.trim();
    return text ? [shell("setquota", flag, text, path)] : [];
  });
  return set.length ? set.join(" && ") : shell("delquota", path);
}

export function WorkDialog({ kind, path, close }: { kind: Kind; path: string; close: () => void }) {
  const to = useSignal(kind === "copy" ? path + "-copy" : path),
    doc = useSignal<unknown>(null),
    name = useSignal("");
  const plan = useSignal<Plan | null>(null);
  const limits = useSignal<Record<string, string> | null>(null);
  const quota = useGet<Quota>(kind === "quota" ? "quota" : null, { path });
  if (quota.data && !limits.value) {
    limits.value = Object.fromEntries(Object.entries(quota.data.limits).map(([k, v]) => [k, v < 0 ? "" : String(v)]));
  }
  const [busy, trouble, attempt] = useTry();
  const body = () => {
    const l = limits.value;
    return {
      kind,
      path: kind === "import" ? to.value : path,
      to: kind === "copy" || kind === "move" ? to.value : "",
      document: kind === "import" ? doc.value : null,
      limits:
        kind === "quota" && l
          ? {
              count: limit(l.count),
              bytes: limit(l.bytes),
              countHard: limit(l.countHard),
              bytesHard: limit(l.bytesHard),
            }
          : null,
    };
  };
  const documentWord = kind === "import" ? { document: "DOCUMENT" } : {};
  const submit = () =>
    attempt(async () => {
      if (!plan.value) {
        plan.value = await send<Plan>("POST", "work/plan", { ...body(), seal: "" });
        return;
      }
      try {
        const done = await send<{ znodes: number }>("POST", "work", { ...body(), seal: plan.value.seal });
        say(`${titles[kind]}: ${of(done.znodes, "znode")} done`);
      } catch (e) {
        plan.value = null;
        throw e;
      }
      close();
      const at = kind === "delete" ? parentOf(path) : kind === "quota" ? path : to.value;
      for (const p of new Set([path, parentOf(path), at, parentOf(at)])) refreshTree(p);
      go("tree", { path: at, tab: kind === "quota" ? "quota" : "" });
    });
  const typed = (fn: () => void) => {
    plan.value = null;
    fn();
  };
  const text = (label: string, value: string, set: (v: string) => void, hint = ""): ComponentChildren => (
    <Field label={label} hint={hint}>
      {(id) => (
        <input
          id={id}
          class="input mono"
          spellcheck={false}
          value={value}
          onInput={(e) => typed(() => set(e.currentTarget.value))}
        />
      )}
    </Field>
  );
  const p = plan.value,
    refused = (p?.refused.length ?? 0) > 0;
  const danger = kind === "delete" || kind === "move";
  return (
    <Reviewed
      title={titles[kind]}
      close={close}
      submit={submit}
      does={does[kind]}
      danger={danger}
      isSeen={p !== null}
      busy={busy}
      trouble={trouble}
      mayLook={kind !== "import" || !!doc.value}
      mayDo={!refused}
    >
      <p class="dim">
        <Name of={path} />
      </p>
      {(kind === "copy" || kind === "move") &&
        text("To", to.value, (v) => (to.value = v), "Path of the copy; nothing may be there yet")}
      {kind === "import" && (
        <>
          {text("The root of the document becomes", to.value, (v) => (to.value = v), "Nothing may be there yet")}
          <Field label="Document" hint="As export writes it, here or in warren shell">
            {(id) => (
              <input
                id={id}
                class="input"
                type="file"
                accept=".json,application/json"
                onChange={(e) =>
                  typed(() => {
                    const file = e.currentTarget.files?.[0];
                    doc.value = null;
                    if (!file) return;
                    name.value = file.name;
                    void file
                      .text()
                      .then((t) => {
                        doc.value = JSON.parse(t);
                      })
                      .catch(() => say("This file is not an export", "bad"));
                  })
                }
              />
            )}
          </Field>
        </>
      )}
      {kind === "quota" && limits.value && (
        <>
          <p class="small faint">An empty field means no limit. A znode counts itself.</p>
          {(
            [
              ["count", "Znodes, logged above"],
              ["countHard", "Znodes, refused above"],
              ["bytes", "Bytes, logged above"],
              ["bytesHard", "Bytes, refused above"],
            ] as const
          ).map(([k, label]) => (
            <Field key={k} label={label}>
              {(id) => (
                <input
                  id={id}
                  class="input"
                  {...digits}
                  value={limits.value![k]}
                  onInput={(e) => typed(() => (limits.value = { ...limits.value!, [k]: e.currentTarget.value }))}
                />
              )}
            </Field>
          ))}
          {quota.data && !quota.data.enforced && (
            <p class="small faint">This server logs hard limits only, until enforceQuota is set.</p>
          )}
        </>
      )}
      {p && (
        <div class="stack" id="planned">
          {refused ? (
            <Note tone="bad" icon={TriangleAlert}>
              <strong>This cannot be done</strong>
              <ul>
                {p.refused.slice(0, 10).map((r) => (
                  <li key={r.path + r.why}>
                    <Name of={r.path} />: {r.why}
                  </li>
                ))}
              </ul>
            </Note>
          ) : (
            <Note tone={p.batches > 1 ? "warn" : "info"} icon={Eye}>
              {of(p.znodes, "znode")}, {bytes(p.bytes)}.{" "}
              {p.batches > 1
                ? `It takes ${p.batches} steps: if one fails, those before it are done.`
                : "It is done at once or not at all."}
            </Note>
          )}
          {p.ephemerals.length > 0 && (
            <Note tone="warn" icon={TriangleAlert}>
              {of(p.ephemerals.length, "ephemeral znode")} of {of(p.sessions.length, "session")}{" "}
              {kind === "delete" ? "will be deleted, too." : "will be left out."}
            </Note>
          )}
          <ul class="small mono" style={{ maxHeight: "160px", overflow: "auto" }} tabIndex={0} aria-label="Znodes">
            {p.paths.map((one) => (
              <li key={one} class="cut" title={plain(one)}>
                <Name of={one} />
              </li>
            ))}
            {p.znodes > p.paths.length && <li>and {of(p.znodes - p.paths.length, "more znode")}</li>}
          </ul>
        </div>
      )}
      <AsCommands
        of={[
          ["the command", commandOf(kind, path, to.value, name.value, limits.value)],
          [
            "the call of the API",
            call("POST", p ? "work" : "work/plan", {}, { ...body(), ...documentWord, seal: p?.seal ?? "" }),
          ],
        ]}
      />
    </Reviewed>
  );
}
