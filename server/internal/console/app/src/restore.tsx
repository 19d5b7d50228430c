// How a backup is brought back, step by step. The servers are stopped meanwhile, so the console cannot do it itself.
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { TriangleAlert } from "lucide";
import type { BackupFolder, Setting } from "./api";
import { Command, word } from "./commands";
import { ensemble } from "./facts";
import { plain, Time } from "./format";
import { Button, Dialog, Field, Note, useGet } from "./parts";

type To = "end" | "time" | "zxid";

export function Restore({ b, close }: { b: BackupFolder; close: () => void }) {
  const to = useSignal<To>("end"),
    time = useSignal(new Date(b.lastAt || b.taken).toISOString()),
    zxid = useSignal(b.last);
  const settings = useGet<{ settings: Setting[] }>("configuration").data?.settings ?? [];
  const valueOf = (name: string) => settings.find((s) => s.name === name)?.value ?? "";
  const restore = (dir: string, ...more: string[]) =>
    ["warren", "restore", b.folder, dir, ...more]
      .concat(to.value === "time" ? ["--time", time.value] : to.value === "zxid" ? ["--zxid", zxid.value] : [])
      .concat(b.encrypted ? ["--identity", "KEY_FILE"] : [])
      .map(word)
      .join(" ");
  const data = valueOf("dataDir") || "DATA_DIR",
    log = valueOf("dataLogDir");
  const step = (title: string, children: ComponentChildren) => (
    <li>
      <h3>{title}</h3>
      {children}
    </li>
  );
  return (
    <Dialog wide title="Restore a backup" close={close} end={<Button onClick={close}>Close</Button>}>
      <Note tone="warn" icon={TriangleAlert}>
        A restore replaces the tree of the whole ensemble. All sessions end, with their locks, and what was written
        after the moment is gone.
      </Note>
      <ol class="steps">
        {step(
          "Choose the moment",
          <>
            <Field label="Restore to">
              {(id) => (
                <select
                  id={id}
                  class="input"
                  value={to.value}
                  onChange={(e) => (to.value = e.currentTarget.value as To)}
                >
                  <option value="end">The end of the backup</option>
                  <option value="time">A time</option>
                  <option value="zxid">A txn</option>
                </select>
              )}
            </Field>
            {to.value === "end" && (
              <p class="small faint">
                It reaches to <Time at={b.lastAt || b.taken} />, txn <code>{plain(b.last) || "–"}</code>.
              </p>
            )}
            {to.value === "time" && (
              <Field label="Time in UTC" hint="The last txn up to this time is restored.">
                {(id) => (
                  <input
                    id={id}
                    class="input mono"
                    spellcheck={false}
                    value={time.value}
                    onInput={(e) => (time.value = e.currentTarget.value)}
                  />
                )}
              </Field>
            )}
            {to.value === "zxid" && (
              <Field label="Zxid" hint="The last txn that is restored.">
                {(id) => (
                  <input
                    id={id}
                    class="input mono"
                    spellcheck={false}
                    value={zxid.value}
                    onInput={(e) => (zxid.value = e.currentTarget.value)}
                  />
                )}
              </Field>
            )}
          </>,
        )}
        {step("Verify the backup", <Command name="the first step" text={`warren backup verify ${word(b.folder)}`} />)}
        {step(
          "Look at the tree first, on a port of its own",
          <>
            <Command name="the restore beside" text={restore("restored")} />
            <Command
              name="the server beside"
              text="warren server --data-dir restored --client-port 5181 -D admin.enableServer=false"
            />
            <Command name="a shell there" text="warren shell -s 127.0.0.1:5181" />
          </>,
        )}
        {step(
          ensemble.value?.members.length ? "Stop all servers, observers too" : "Stop the server",
          <p class="small faint">From here on, no client is served.</p>,
        )}
        {step(
          ensemble.value?.members.length ? "Restore on every server" : "Restore",
          <>
            <Command
              name="the restore"
              text={restore(data, ...(log && log !== data ? ["--dataLogDir", log] : []), "--force")}
            />
            <p class="small faint">
              What was there is kept beside it, in a folder <code>version-2.before-restore-TIME</code>. The folders
              are those of this server.
            </p>
          </>,
        )}
        {step("Start the servers, and check", <Command name="the check" text="warren status" />)}
      </ol>
      <p class="small">
        <a href="../docs/runbooks/restore.html">The runbook</a> says how to undo it, and what differs if the old data
        is lost.
      </p>
    </Dialog>
  );
}
