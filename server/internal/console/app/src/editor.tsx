// The editor and the view of differences. CodeMirror is loaded when the first of them opens.
import type { Signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Format } from "./data";
import { Skeleton } from "./parts";
import { shown } from "./prefs";

type Mirror = typeof import("./codemirror");
let loading: Promise<Mirror> | null = null;

function useMirror(): Mirror | null {
  const [m, set] = useState<Mirror | null>(null);
  useEffect(() => {
    loading ??= import("./codemirror");
    void loading.then((got) => set(() => got));
  }, []);
  return m;
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
  const m = useMirror();
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
  return m ? <div class="editor" ref={box} /> : <Skeleton rows={8} />;
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
  const m = useMirror();
  useEffect(() => {
    if (!m || !box.current) return;
    const made = m.difference(box.current, { before, after, format, label, dark: shown.value === "dark" });
    return () => made.destroy();
  }, [m, before, after, shown.value]);
  return (
    <div class="stack" style={{ gap: "6px" }}>
      <span class="small dim">{label}</span>
      {m ? <div class="editor diff" ref={box} /> : <Skeleton rows={5} />}
    </div>
  );
}
