// The editor and the view of differences. CodeMirror is loaded when the first of them opens.
import { useSignal, type Signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { TriangleAlert } from "lucide";
import type { Format } from "./data";
import { Note, Skeleton } from "./parts";
import { shown } from "./prefs";

type Mirror = typeof import("./codemirror");
let loading: Promise<Mirror> | null = null;

/** CodeMirror, or what stands in its place until it is there. */
function useMirror(rows: number): [Mirror | null, ComponentChildren] {
  const [m, set] = useState<Mirror | null>(null),
    failed = useSignal(false);
  useEffect(() => {
    loading ??= import("./codemirror");
    loading.then(
      (got) => set(() => got),
      () => {
        loading = null;
        failed.value = true;
      },
    );
  }, []);
  return [
    m,
    failed.value ? (
      <Note tone="bad" icon={TriangleAlert}>
        The editor cannot be loaded: the server does not answer, or has another version now. Reload this page; what
        you typed is kept.
      </Note>
    ) : (
      <Skeleton rows={rows} />
    ),
  ];
}

export function Editor({
  value,
  format,
  wrong,
  label,
  save,
}: {
  value: Signal<string>;
  format: Format;
  wrong: (why: string) => void;
  label: string;
  save: () => void;
}) {
  const box = useRef<HTMLDivElement>(null),
    view = useRef<ReturnType<Mirror["edit"]> | null>(null);
  const [m, instead] = useMirror(8);
  useEffect(() => {
    if (!m || !box.current) return;
    const made = m.edit(box.current, {
      text: value.peek(),
      format,
      label,
      dark: shown.value === "dark",
      wrong,
      save,
      changed: (t) => (value.value = t),
    });
    view.current = made;
    return () => made.destroy();
  }, [m, shown.value]);
  useEffect(() => view.current?.set(value.value), [value.value]);
  return m ? <div class="editor" ref={box} /> : <>{instead}</>;
}

export function DiffView({
  before,
  after,
  format,
  label,
}: {
  before: string;
  after: string;
  format: Format;
  label: string;
}) {
  const box = useRef<HTMLDivElement>(null);
  const [m, instead] = useMirror(5);
  useEffect(() => {
    if (!m || !box.current) return;
    const made = m.difference(box.current, { before, after, format, label, dark: shown.value === "dark" });
    return () => made.destroy();
  }, [m, before, after, shown.value]);
  return (
    <div class="stack" style={{ gap: "6px" }}>
      <span class="small dim">{label}</span>
      {m ? <div class="editor diff" ref={box} /> : instead}
    </div>
  );
}
