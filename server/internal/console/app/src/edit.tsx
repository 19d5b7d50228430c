// Editing the data of a znode: the draft, the review before a save, and the conflict with another version.
import { effect, useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect } from "preact/hooks";
import { FileDiff, TriangleAlert } from "lucide";
import { get, send, Trouble, type Znode } from "./api";
import { AsCommands, call, shell } from "./commands";
import { editable, type Format } from "./data";
import { keepDraft, readDraft } from "./drafts";
import { DiffView, Editor } from "./editor";
import { plain } from "./format";
import { Button, Dialog, Note, say, Segments, Tag, useTry } from "./parts";

/** The editor. A draft is kept while it is typed; a save that meets another version keeps it and shows all three. */
export function Edit({ z, format, again, end }: { z: Znode; format: Format; again: () => void; end: () => void }) {
  const draft = readDraft(z.path),
    now = editable(z);
  // Of the text as it was opened: another client may write bytes that are no text meanwhile.
  const { value: encoding } = useSignal(draft?.encoding ?? now.encoding);
  const text = useSignal(draft?.text ?? now.text),
    base = useSignal(draft?.base ?? now.text);
  const version = useSignal(draft?.version ?? z.stat.version);
  const review = useSignal(false),
    theirs = useSignal<Znode | null>(null),
    wrong = useSignal("");
  const [busy, trouble, attempt] = useTry();
  const dirty = text.value !== base.value;
  // At once: an effect of a render is lost with a visitor that goes on before it.
  useLayoutEffect(
    () =>
      effect(() =>
        keepDraft(
          z.path,
          text.value === base.value ? null : { text: text.value, encoding, version: version.value, base: base.value },
        ),
      ),
    [],
  );
  useEffect(() => {
    if (!dirty) return;
    const ask = (e: BeforeUnloadEvent) => e.preventDefault();
    addEventListener("beforeunload", ask);
    return () => removeEventListener("beforeunload", ask);
  }, [dirty]);
  const body = () => ({ path: z.path, data: text.value, encoding, version: version.value });
  const save = () =>
    attempt(async () => {
      try {
        await send("PUT", "znode", body());
      } catch (e) {
        if (e instanceof Trouble && e.code === "BadVersion") {
          theirs.value = await get<Znode>("znode", { path: z.path });
          review.value = false;
          return;
        }
        throw e;
      }
      keepDraft(z.path, null);
      say("Saved");
      end();
      again();
    });
  const lay = () =>
    send<{ text: string }>("POST", "laid", { text: text.value, as: format }).then(
      (laid) => (text.value = laid.text.trimEnd() + "\n"),
      (e) => say(e instanceof Error ? e.message : String(e), "bad"),
    );
  const discard = () => {
    keepDraft(z.path, null);
    end();
    again();
  };
  return (
    <>
      <div class="databar">
        <Tag tone={dirty ? "warn" : ""}>
          {dirty ? "Not saved" : "Editing"}
          <span class="not-phone"> · version {version.value}</span>
        </Tag>
        {encoding === "base64" && <Tag tone="info">base64</Tag>}
        <span class="grow" />
        {["json", "yaml", "xml"].includes(format) && <Button onClick={lay}>Format</Button>}
        <Button onClick={discard}>{dirty ? "Discard" : "Close"}</Button>
        <Button primary icon={FileDiff} disabled={!dirty} onClick={() => (review.value = true)}>
          Review<span class="not-phone"> and save</span>
        </Button>
      </div>
      {draft && draft.version !== z.stat.version && (
        <Note tone="warn" icon={TriangleAlert}>
          What you typed is based on version {draft.version}; the znode has version {z.stat.version} now. Saving shows
          both.
        </Note>
      )}
      <Editor
        value={text}
        format={format}
        wrong={(w) => (wrong.value = w)}
        label={"Data of " + plain(z.path)}
        save={() => dirty && (review.value = true)}
      />
      <p class="small c-bad" id="invalid" role="status">
        {wrong.value}
      </p>
      {review.value && (
        <Dialog
          wide
          title={`Save over version ${version.value}?`}
          close={() => (review.value = false)}
          submit={save}
          end={
            <>
              <Button onClick={() => (review.value = false)}>Keep editing</Button>
              <Button primary type="submit" disabled={busy}>
                {busy ? "Saving…" : "Save"}
              </Button>
            </>
          }
        >
          {trouble && (
            <Note tone="bad" icon={TriangleAlert}>
              {trouble}
            </Note>
          )}
          {wrong.value && (
            <Note tone="warn" icon={TriangleAlert}>
              {wrong.value}
            </Note>
          )}
          <DiffView before={base.value} after={text.value} format={format} label="What would change" />
          <AsCommands
            of={[
              [
                "the command",
                shell(
                  "set",
                  ...(encoding === "base64" ? ["-b"] : []),
                  "-v",
                  String(version.value),
                  z.path,
                  text.value,
                ),
              ],
              ["the call of the API", call("PUT", "znode", {}, body())],
            ]}
          />
        </Dialog>
      )}
      {theirs.value && (
        <Conflict
          mine={text.value}
          base={base.value}
          theirs={theirs.value}
          format={format}
          keep={() => {
            base.value = editable(theirs.value!).text;
            version.value = theirs.value!.stat.version;
            theirs.value = null;
            keepDraft(z.path, { text: text.value, encoding, version: version.value, base: base.value });
            review.value = true;
          }}
          take={discard}
          close={() => (theirs.value = null)}
        />
      )}
    </>
  );
}

function Conflict({
  mine,
  base,
  theirs,
  format,
  keep,
  take,
  close,
}: {
  mine: string;
  base: string;
  theirs: Znode;
  format: Format;
  keep: () => void;
  take: () => void;
  close: () => void;
}) {
  const view = useSignal<"mine" | "base" | "ours">("mine");
  const other = editable(theirs).text;
  const [before, after, label] =
    view.value === "mine"
      ? [other, mine, "From theirs to yours"]
      : view.value === "base"
        ? [base, other, "What they changed"]
        : [base, mine, "What you changed"];
  return (
    <Dialog
      wide
      title="This znode has changed meanwhile"
      close={close}
      end={
        <>
          <Button onClick={close}>Keep editing</Button>
          <Button danger onClick={take}>
            Take theirs
          </Button>
          <Button primary onClick={keep}>
            Save mine over version {theirs.stat.version}
          </Button>
        </>
      }
    >
      <Note tone="warn" icon={TriangleAlert}>
        Nothing was saved. Your text is still here: version {theirs.stat.version} is on the server, yours began with
        an earlier one.
      </Note>
      <Segments
        label="Compare"
        menu
        value={view.value}
        pick={(v) => (view.value = v)}
        of={[
          ["mine", "Yours and theirs"],
          ["base", "Base and theirs"],
          ["ours", "Base and yours"],
        ]}
      />
      <DiffView before={before} after={after} format={format} label={label} key={view.value} />
    </Dialog>
  );
}
