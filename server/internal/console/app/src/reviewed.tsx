// The dialog of every change that can be looked at before it is made.
import type { ComponentChildren } from "preact";
import { Eye, TriangleAlert } from "lucide";
import { plain } from "./format";
import { Button, Dialog, Note } from "./parts";

/** A dialog whose button shows first what a change would do, and once that is seen makes it. */
export function Reviewed({
  title,
  wide,
  close,
  submit,
  look = "Preview",
  does,
  danger,
  isSeen,
  busy,
  trouble,
  mayLook = true,
  mayDo = true,
  children,
}: {
  title: string;
  wide?: boolean;
  close: () => void;
  submit: () => void;
  /** On the button that shows it. */
  look?: string;
  /** On the button that makes it. */
  does: string;
  danger?: boolean;
  isSeen: boolean;
  busy: boolean;
  trouble: string;
  mayLook?: boolean;
  mayDo?: boolean;
  children: ComponentChildren;
}) {
  return (
    <Dialog
      wide={wide}
      title={title}
      close={close}
      submit={submit}
      end={
        <>
          <Button onClick={close}>Cancel</Button>
          {isSeen ? (
            <Button primary={!danger} danger={danger} type="submit" disabled={busy || !mayDo}>
              {busy ? "Working…" : does}
            </Button>
          ) : (
            <Button primary type="submit" icon={Eye} disabled={busy || !mayLook}>
              {busy ? "Looking…" : look}
            </Button>
          )}
        </>
      }
    >
      {trouble && (
        <Note tone="bad" icon={TriangleAlert}>
          {plain(trouble)}
        </Note>
      )}
      {children}
    </Dialog>
  );
}
