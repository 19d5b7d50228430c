// The frame around every page: the rail, the bar at the top, the dialogs that may come from anywhere.
import { signal, useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import {
  LogIn,
  LogOut,
  Menu,
  Monitor,
  Moon,
  PanelLeftClose,
  PanelLeftOpen,
  Rows3,
  Rows4,
  Search as SearchIcon,
  Sun,
  TriangleAlert,
  User,
  X,
} from "lucide";
import { identity, login, logout, wanted } from "./api";
import { ensemble, ensembleName, heardAt, lost, verdict } from "./facts";
import { clearDrafts } from "./drafts";
import { clock, of } from "./format";
import { pages, sectionOf, titleOf } from "./pages";
import { Palette, paletteOpen } from "./palette";
import { Button, Dialog, Dot, Field, Icon, Note, say, Toasts, useTry } from "./parts";
import { density, narrow, narrowRail, theme } from "./prefs";
import { page, place, to } from "./router";

const sheet = signal(false);

function Rail() {
  const ref = useRef<HTMLElement>(null);
  const groups = [...new Set(pages.map((p) => p.group))];
  useEffect(() => {
    sheet.value = false;
  }, [place.value]);
  useEffect(() => {
    if (sheet.value) ref.current?.querySelector<HTMLElement>("a.item")?.focus();
  }, [sheet.value]);
  const next = { system: "light", light: "dark", dark: "system" } as const;
  const icon = { system: Monitor, light: Sun, dark: Moon }[theme.value];
  return (
    <aside
      class={"rail" + (sheet.value ? " open" : "")}
      id="rail"
      ref={ref}
      onKeyDown={(e) => e.key === "Escape" && (sheet.value = false)}
    >
      <a class="brand" href="#/" aria-label="Warren">
        <img src="static/icon.svg" alt="" />
        <span class="label">Warren</span>
      </a>
      <nav aria-label="Console">
        {groups.map((g) => (
          <div key={g} role="group" aria-label={g || "Start"}>
            {g && (
              <div class="group" aria-hidden="true">
                <span>{g}</span>
              </div>
            )}
            {pages
              .filter((p) => p.group === g)
              .map((p) => (
                <a
                  key={p.id}
                  class="item"
                  href={p.old ?? to(p.id)}
                  title={p.title}
                  aria-current={sectionOf(page.value) === p.id ? "page" : undefined}
                >
                  <Icon of={p.icon} />
                  <span class="label">{p.title}</span>
                  <span class="sr">{narrow.value ? p.title : ""}</span>
                </a>
              ))}
          </div>
        ))}
      </nav>
      <div class="foot">
        <Button
          quiet
          icon={icon}
          label={`Theme: ${theme.value}. Change`}
          onClick={() => (theme.value = next[theme.value])}
        />
        <Button
          quiet
          icon={density.value === "compact" ? Rows4 : Rows3}
          label={`Density: ${density.value}. Change`}
          onClick={() => (density.value = density.value === "compact" ? "comfortable" : "compact")}
        />
        <span class="not-phone">
          <Button
            quiet
            icon={narrow.value ? PanelLeftOpen : PanelLeftClose}
            label={narrow.value ? "Expand the rail" : "Collapse the rail"}
            onClick={() => narrowRail(!narrow.value)}
          />
        </span>
        <span class="only-phone">
          <Button quiet icon={X} label="Close the menu" onClick={() => (sheet.value = false)} />
        </span>
      </div>
    </aside>
  );
}

function Top() {
  const e = ensemble.value,
    v = verdict.value,
    who = identity.value;
  const found = e?.problems.length ?? 0;
  return (
    <header class="top">
      <span class="only-phone">
        <Button
          quiet
          icon={Menu}
          label="Menu"
          aria-expanded={sheet.value}
          aria-controls="rail"
          onClick={() => (sheet.value = true)}
        />
      </span>
      <div class="who grow">
        <a
          class="row"
          href="#/"
          id="state"
          title={v?.sentence}
          aria-label={(found ? of(found, "finding") + ". " : "") + (v?.sentence ?? "State not known")}
        >
          <Dot tone={v?.tone ?? ""} />
          {found > 0 && <span class={"tag " + (v?.tone ?? "")}>{found}</span>}
        </a>
        <b class="cut" id="ensemble">
          {ensembleName.value}
        </b>
        {e && <span class="sep not-phone">/</span>}
        {e && (
          <span class="dim cut not-phone" id="answering">
            {e.members.length ? `server ${e.serverId}, ${e.state}` : e.state}
          </span>
        )}
      </div>
      <button
        type="button"
        class="find"
        onClick={() => (paletteOpen.value = true)}
        aria-label="Search or jump to… Ctrl K"
        aria-keyshortcuts="Control+K"
      >
        <Icon of={SearchIcon} />
        <span class="grow" style={{ textAlign: "left" }}>
          Search or jump to…
        </span>
        <kbd>Ctrl K</kbd>
      </button>
      {who?.user ? (
        <div class="row">
          <span class="row not-phone" id="user">
            <Icon of={User} />
            {who.user}
          </span>
          <Button quiet icon={LogOut} label={`Log out ${who.user}`} onClick={leave} />
        </div>
      ) : (
        <button type="button" class="btn" id="login" onClick={() => (wanted.value = { why: "", then: () => {} })}>
          <Icon of={LogIn} />
          <span class="not-phone">Log in</span>
          <span class="sr only-phone">Log in</span>
        </button>
      )}
    </header>
  );
}

async function leave(): Promise<void> {
  try {
    await logout();
    clearDrafts();
    say("Logged out");
  } catch (e) {
    say(String(e instanceof Error ? e.message : e), "bad");
  }
}

function Login() {
  const user = useSignal(identity.value?.user || ""),
    password = useSignal("");
  const [busy, wrong, attempt] = useTry();
  const w = wanted.value!;
  const end = (ok: boolean) => {
    wanted.value = null;
    w.then(ok);
  };
  return (
    <Dialog
      title="Log in"
      close={() => end(false)}
      submit={() =>
        attempt(async () => {
          await login(user.value, password.value);
          end(true);
        })
      }
      end={
        <>
          <Button onClick={() => end(false)}>Cancel</Button>
          <Button primary type="submit" disabled={busy || !user.value || !password.value}>
            {busy ? "Logging in…" : "Log in"}
          </Button>
        </>
      }
    >
      {w.why && (
        <Note tone="info" icon={LogIn}>
          {w.why}
        </Note>
      )}
      {wrong && (
        <Note tone="bad" icon={TriangleAlert}>
          {wrong}
        </Note>
      )}
      <Field label="User">
        {(id) => (
          <input
            id={id}
            class="input"
            name="user"
            autocomplete="username"
            autocapitalize="none"
            spellcheck={false}
            value={user.value}
            autofocus
            onInput={(e) => (user.value = e.currentTarget.value)}
          />
        )}
      </Field>
      <Field
        label="Password"
        hint="A user of scheme digest: the super user, or one that the ACL of some znode names."
      >
        {(id) => (
          <input
            id={id}
            class="input"
            name="password"
            type="password"
            autocomplete="current-password"
            value={password.value}
            onInput={(e) => (password.value = e.currentTarget.value)}
          />
        )}
      </Field>
    </Dialog>
  );
}

export function Frame({ children }: { children: ComponentChildren }) {
  useLayoutEffect(() => {
    const keys = (e: KeyboardEvent) => {
      if ((e.ctrlKey || e.metaKey) && e.key.toLowerCase() === "k") {
        e.preventDefault();
        paletteOpen.value = true;
      }
      const at = e.target as HTMLElement;
      if (
        e.key === "/" &&
        !e.ctrlKey &&
        !at.isContentEditable &&
        !/^(INPUT|TEXTAREA|SELECT)$/.test(at.tagName) &&
        !at.closest(".editor")
      ) {
        e.preventDefault();
        paletteOpen.value = true;
      }
    };
    addEventListener("keydown", keys);
    return () => removeEventListener("keydown", keys);
  }, []);
  useEffect(() => {
    const path = page.value === "tree" ? place.value.params.get("path") : null;
    document.title = `${path ?? titleOf(page.value)} · ${ensembleName.value}`;
  }, [place.value, ensembleName.value]);
  return (
    <div class="frame">
      <a
        class="sr"
        href="#main"
        onClick={(e) => {
          e.preventDefault();
          document.getElementById("main")?.focus();
        }}
      >
        Skip to the content
      </a>
      {sheet.value && <div class="scrim" onClick={() => (sheet.value = false)} />}
      <Rail />
      <Top />
      <main id="main" tabIndex={-1}>
        {lost.value && ensemble.value && (
          <div style={{ padding: "12px 24px 0" }}>
            <Note tone="bad" icon={TriangleAlert}>
              {lost.value}. What is shown is old: not known since {clock(heardAt.value)}. This page tries again.
            </Note>
          </div>
        )}
        {children}
      </main>
      {paletteOpen.value && <Palette />}
      {wanted.value && <Login />}
      <Toasts />
    </div>
  );
}
