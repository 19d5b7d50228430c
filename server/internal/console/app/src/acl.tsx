// The editor of permissions: a row for each entry. Passwords are hashed by the server before the ACL is sent.
import { useSignal } from "@preact/signals";
import { Plus, Trash2, TriangleAlert } from "lucide";
import { send, Trouble, type ACL, type Znode } from "./api";
import { AsCommands, call, shell } from "./commands";
import { Name } from "./format";
import { Button, Dialog, Field, Note, say, useTry } from "./parts";

export const perms: [string, string][] = [
  ["c", "Create"],
  ["d", "Delete"],
  ["r", "Read"],
  ["w", "Write"],
  ["a", "Admin"],
];

interface Row extends ACL {
  password: string;
  key: number;
}

let keys = 0;

export function EditACL({ z, close, done }: { z: Znode; close: () => void; done: () => void }) {
  const rows = useSignal<Row[]>(z.acl.map((e) => ({ ...e, password: "", key: keys++ })));
  // Of the list as it was opened: another client may set another one meanwhile.
  const { value: version } = useSignal(z.stat.aversion);
  const lockout = useSignal(false);
  const [busy, trouble, attempt] = useTry();
  const set = (key: number, change: Partial<Row>) =>
    (rows.value = rows.value.map((r) => (r.key === key ? { ...r, ...change } : r)));
  // A password is no part of a command: its hash is, which warren digest makes.
  const shown: ACL[] = rows.value.map(({ scheme, id, perms, password }) => ({
    scheme,
    id: scheme === "digest" && password ? id + ":HASH" : id,
    perms,
  }));
  const save = () =>
    attempt(async () => {
      const acl: ACL[] = [];
      for (const r of rows.value) {
        let id = r.id;
        if (r.scheme === "digest" && r.password) {
          id = (await send<ACL>("POST", "digest", { user: r.id, password: r.password })).id;
          set(r.key, { id, password: "" });
        }
        acl.push({ scheme: r.scheme, id, perms: r.perms });
      }
      try {
        await send("PUT", "acl", { path: z.path, acl, version, keepAdmin: !lockout.value });
      } catch (e) {
        if (e instanceof Trouble && e.status === 409 && !e.code) {
          lockout.value = true;
          throw new Error(e.message + ". Save again to do it all the same");
        }
        throw e;
      }
      say("Permissions saved");
      done();
    });
  return (
    <Dialog
      wide
      title="Edit permissions"
      close={close}
      submit={save}
      end={
        <>
          <Button
            icon={Plus}
            onClick={() =>
              (rows.value = [...rows.value, { scheme: "digest", id: "", perms: "r", password: "", key: keys++ }])
            }
          >
            Add an entry
          </Button>
          <span class="grow" />
          <Button onClick={close}>Cancel</Button>
          <Button
            primary={!lockout.value}
            danger={lockout.value}
            type="submit"
            disabled={busy || rows.value.length === 0}
          >
            {busy ? "Saving…" : lockout.value ? "Save without a way back" : "Save permissions"}
          </Button>
        </>
      }
    >
      <p class="dim">
        <Name of={z.path} />, ACL version {version}
      </p>
      {trouble && (
        <Note tone={lockout.value ? "warn" : "bad"} icon={TriangleAlert}>
          {trouble}
        </Note>
      )}
      {rows.value.map((r, i) => (
        <fieldset class="entry" key={r.key}>
          <legend class="sr">Entry {i + 1}</legend>
          <Field label="Scheme">
            {(id) => (
              <select
                id={id}
                class="input"
                value={r.scheme}
                onChange={(e) =>
                  set(r.key, {
                    scheme: e.currentTarget.value,
                    id: e.currentTarget.value === "world" ? "anyone" : r.id,
                  })
                }
              >
                {[...new Set(["world", "auth", "digest", "ip", "sasl", "x509", r.scheme])].map((s) => (
                  <option key={s}>{s}</option>
                ))}
              </select>
            )}
          </Field>
          <div class="grow">
            <Field label={r.scheme === "digest" ? "User" : "Identity"}>
              {(id) => (
                <input
                  id={id}
                  class="input mono"
                  value={r.id}
                  spellcheck={false}
                  autocapitalize="none"
                  onInput={(e) => set(r.key, { id: e.currentTarget.value })}
                />
              )}
            </Field>
          </div>
          {r.scheme === "digest" && !r.id.includes(":") && (
            <Field label="Password">
              {(id) => (
                <input
                  id={id}
                  class="input"
                  type="password"
                  autocomplete="new-password"
                  value={r.password}
                  onInput={(e) => set(r.key, { password: e.currentTarget.value })}
                />
              )}
            </Field>
          )}
          <div class="row perms" role="group" aria-label={`Permissions of entry ${i + 1}`}>
            {perms.map(([letter, name]) => (
              <label class="tick" key={letter}>
                <input
                  type="checkbox"
                  checked={r.perms.includes(letter)}
                  onChange={(e) =>
                    set(r.key, {
                      perms: perms
                        .map(([l]) => l)
                        .filter((l) => (l === letter ? e.currentTarget.checked : r.perms.includes(l)))
                        .join(""),
                    })
                  }
                />
                {name}
              </label>
            ))}
          </div>
          <Button
            quiet
            danger
            icon={Trash2}
            label={`Remove entry ${i + 1}`}
            onClick={() => (rows.value = rows.value.filter((o) => o.key !== r.key))}
          />
        </fieldset>
      ))}
      <AsCommands
        of={[
          [
            "the command",
            shell(
              "setAcl",
              "-v",
              String(version),
              z.path,
              shown.map((e) => `${e.scheme}:${e.id}:${e.perms}`).join(","),
            ),
          ],
          ["the call of the API", call("PUT", "acl", {}, { path: z.path, acl: shown, version })],
        ]}
      />
    </Dialog>
  );
}
