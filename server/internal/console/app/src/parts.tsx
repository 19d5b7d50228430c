// The parts of which pages are made.
import { signal, useSignal, type Signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { get, Trouble, user, wanted, type ToldBy } from "./api";
import { phone } from "./prefs";
import { to } from "./router";

type IconNode = [string, Record<string, string | number | undefined>][];

/** An icon of lucide. It says nothing to a screen reader: the text beside it does. */
export function Icon({ of }: { of: IconNode }) {
  return (
    <svg
      class="icon"
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      stroke-linecap="round"
      stroke-linejoin="round"
      aria-hidden="true"
    >
      {of.map(([Tag, attributes], i) => {
        const T = Tag as any;
        return <T key={i} {...attributes} />;
      })}
    </svg>
  );
}

export interface Resource<T> {
  data: T | null;
  trouble: Trouble | null;
  refresh: () => void;
  at: number;
}

/**
 * What the API answers, asked again every so many ms while the page is seen, and for another visitor. An old answer
 * stays when one fails. It is asked before the page is painted, which may take long.
 */
export function useGet<T>(
  path: string | null,
  query: Record<string, string | number | undefined> = {},
  every = 0,
): Resource<T> {
  const key = path + "?" + JSON.stringify(query),
    who = user.value;
  const [state, set] = useState<{ key: string; data: T | null; trouble: Trouble | null; at: number }>({
    key,
    data: null,
    trouble: null,
    at: 0,
  });
  const [turn, setTurn] = useState(0);
  useLayoutEffect(() => {
    if (path === null) return;
    const stop = new AbortController();
    let timer = 0;
    const ask = async () => {
      if (!document.hidden || !every) {
        try {
          const data = await get<T>(path, query, stop.signal);
          set({ key, data, trouble: null, at: Date.now() });
        } catch (e) {
          if (stop.signal.aborted) return;
          const trouble = e instanceof Trouble ? e : new Trouble(0, String(e));
          set((old) => ({ key, data: old.key === key ? old.data : null, trouble, at: Date.now() }));
        }
      }
      if (every && !stop.signal.aborted) timer = window.setTimeout(ask, every);
    };
    void ask();
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [key, every, turn, who]);
  const mine = state.key === key ? state : { data: null, trouble: null, at: 0 };
  return { ...mine, refresh: () => setTurn((n) => n + 1) };
}

export type Tone = "good" | "warn" | "bad" | "info" | "";

/** What happened to a znode. */
export const tones: Record<string, Tone> = { created: "good", deleted: "bad", changed: "info" };

/** The states of members of recipes. */
export const stateTones: Record<string, Tone> = {
  holds: "good",
  leads: "good",
  inside: "good",
  waits: "warn",
  closed: "bad",
  disabled: "bad",
};

/** A session as a link to its page. */
export const SessionLink = ({ label }: { label: string }) =>
  label ? (
    <a href={to("session", { label })}>
      <code>{label}</code>
    </a>
  ) : (
    <>–</>
  );

export const Dot = ({ tone, label }: { tone: Tone; label?: string }) => (
  <span
    class={"dot " + tone}
    role={label ? "img" : undefined}
    aria-label={label}
    aria-hidden={label ? undefined : "true"}
  />
);
export const Tag = ({
  tone = "",
  icon,
  children,
  title,
}: {
  tone?: Tone;
  icon?: IconNode;
  children: ComponentChildren;
  title?: string;
}) => (
  <span class={"tag " + tone} title={title}>
    {icon && <Icon of={icon} />}
    {children}
  </span>
);

export function Button({
  primary,
  danger,
  quiet,
  small,
  icon,
  label,
  children,
  ...rest
}: {
  primary?: boolean;
  danger?: boolean;
  quiet?: boolean;
  small?: boolean;
  icon?: IconNode;
  label?: string;
  children?: ComponentChildren;
  [other: string]: any;
}) {
  const cls = [
    "btn",
    primary && "primary",
    danger && "danger",
    quiet && "quiet",
    small && "s",
    !children && "icon-only",
  ];
  return (
    <button
      type="button"
      class={cls.filter(Boolean).join(" ")}
      aria-label={label}
      title={children ? undefined : label}
      {...rest}
    >
      {icon && <Icon of={icon} />}
      {children}
    </button>
  );
}

export function Segments<T extends string>({
  label,
  value,
  of,
  names,
  menu,
  pick,
}: {
  label: string;
  value: T;
  of: [T, string][];
  /** What a screen reader says, where the text alone says too little. */
  names?: [T, string][];
  /** Whether a phone shows a menu instead. */
  menu?: boolean;
  pick: (v: T) => void;
}) {
  if (menu && phone.value)
    return (
      <select class="input auto" aria-label={label} value={value} onChange={(e) => pick(e.currentTarget.value as T)}>
        {of.map(([v, text]) => (
          <option key={v} value={v}>
            {text}
          </option>
        ))}
      </select>
    );
  return (
    <div class="seg" role="group" aria-label={label}>
      {of.map(([v, text], i) => (
        <button key={v} type="button" aria-label={names?.[i][1]} aria-pressed={v === value} onClick={() => pick(v)}>
          {text}
        </button>
      ))}
    </div>
  );
}

export function Field({
  label,
  children,
  hint,
}: {
  label: string;
  children: (id: string) => ComponentChildren;
  hint?: string;
}) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children(id)}
      {hint && <span class="small faint">{hint}</span>}
    </div>
  );
}

/** What makes an input one for a whole number: the browser says so before anything else is sent. */
export const digits = { inputMode: "numeric", pattern: "[0-9]*", title: "A whole number, without a unit" } as const;

export const Note = ({ tone, icon, children }: { tone: Tone; icon: IconNode; children: ComponentChildren }) => (
  <div class={"note " + tone} role={tone === "bad" ? "alert" : "status"}>
    <Icon of={icon} />
    <div class="grow">{children}</div>
  </div>
);

/** Servers that have not told what they know: what is shown is not all there is. */
export function Silent({ of }: { of: ToldBy[] }) {
  const silent = of.filter((s) => s.trouble);
  if (silent.length === 0) return null;
  return (
    <div class="row wrap" role="status">
      {silent.map((s) => (
        <Tag key={s.id} tone="warn" title={s.trouble}>
          Server {s.id}: not known, {s.trouble}
        </Tag>
      ))}
    </div>
  );
}

/** Why nothing is here, and what to do. */
export const Empty = ({
  icon,
  title,
  children,
  action,
}: {
  icon: IconNode;
  title: string;
  children?: ComponentChildren;
  action?: ComponentChildren;
}) => (
  <div class="empty">
    <Icon of={icon} />
    <strong>{title}</strong>
    {children && <p>{children}</p>}
    {action && <div class="row wrap">{action}</div>}
  </div>
);

/** Asks for a login. */
export const LogInButton = () => <Button onClick={() => (wanted.value = { why: "", then: () => {} })}>Log in</Button>;

export const Skeleton = ({ rows = 4 }: { rows?: number }) => (
  <div class="stack" role="status" aria-label="Loading">
    {Array.from({ length: rows }, (_, i) => (
      <div key={i} class="skeleton" style={{ width: `${92 - ((i * 17) % 40)}%` }} />
    ))}
  </div>
);

/** A dialog over the page. Escape closes it; the focus returns to where it was. */
export function Dialog({
  title,
  close,
  wide,
  children,
  end,
  submit,
}: {
  title: string;
  close: () => void;
  wide?: boolean;
  children: ComponentChildren;
  end?: ComponentChildren;
  submit?: () => void;
}) {
  const ref = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const before = document.activeElement as HTMLElement | null;
    ref.current!.showModal();
    return () => before?.focus?.();
  }, []);
  return (
    <dialog
      ref={ref}
      class={wide ? "wide" : ""}
      aria-labelledby={id}
      onCancel={(e) => {
        e.preventDefault();
        close();
      }}
    >
      <form
        method="dialog"
        onSubmit={(e) => {
          e.preventDefault();
          submit?.();
        }}
      >
        <div class="head">
          <h2 id={id}>{title}</h2>
        </div>
        <div class="mid">{children}</div>
        {end && <div class="end">{end}</div>}
      </form>
    </dialog>
  );
}

const toasts = signal<{ id: number; text: string; tone: Tone }[]>([]);
let toasted = 0;

/** Says something in a corner for some seconds. */
export function say(text: string, tone: Tone = "good"): void {
  const id = ++toasted;
  toasts.value = [...toasts.value, { id, text, tone }];
  setTimeout(() => (toasts.value = toasts.value.filter((t) => t.id !== id)), tone === "bad" ? 9000 : 4000);
}

export const Toasts = () => (
  <div class="toasts" role="status" aria-live="polite">
    {toasts.value.map((t) => (
      <div class="toast" key={t.id}>
        <Dot tone={t.tone} />
        <span>{t.text}</span>
      </div>
    ))}
  </div>
);

/** Copies a text, and says so. */
export async function copy(text: string, what: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    say(what + " copied");
  } catch {
    say("The browser does not allow copying here", "bad");
  }
}

/** What is typed into a field: it begins with what the address says, and follows that. */
export function useTyped(value: string): Signal<string> {
  const typed = useSignal(value);
  useEffect(() => {
    typed.value = value;
  }, [value]);
  return typed;
}

/** Runs something that may fail, and says why it did. */
export function useTry(): [boolean, string, (fn: () => Promise<void>) => Promise<void>, (s: string) => void] {
  const busy = useSignal(false),
    wrong = useSignal("");
  return [
    busy.value,
    wrong.value,
    async (fn) => {
      busy.value = true;
      wrong.value = "";
      try {
        await fn();
      } catch (e) {
        wrong.value = e instanceof Error ? e.message : String(e);
      } finally {
        busy.value = false;
      }
    },
    (s) => (wrong.value = s),
  ];
}
