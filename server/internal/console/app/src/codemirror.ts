// CodeMirror as the console uses it. It lives in a shadow root: there its styles are adopted style sheets, which the
// content security policy allows, while style elements are not.
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { json, jsonParseLinter } from "@codemirror/lang-json";
import { xml } from "@codemirror/lang-xml";
import { yaml } from "@codemirror/lang-yaml";
import {
  bracketMatching,
  foldGutter,
  HighlightStyle,
  indentOnInput,
  syntaxHighlighting,
  syntaxTree,
} from "@codemirror/language";
import { linter, lintGutter, type Diagnostic } from "@codemirror/lint";
import { unifiedMergeView } from "@codemirror/merge";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import { EditorState, Text, type Extension } from "@codemirror/state";
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightSpecialChars,
  keymap,
  lineNumbers,
} from "@codemirror/view";
import { tags as t } from "@lezer/highlight";
import type { Format } from "./data";

const languages: Partial<Record<Format, () => Extension>> = { json, yaml, xml };

const look = (dark: boolean) =>
  EditorView.theme(
    {
      "&": { height: "100%", color: "var(--text)", backgroundColor: "var(--surface)", fontSize: "13px" },
      "&.cm-focused": { outline: "none" },
      ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "20px", fontVariantLigatures: "none" },
      ".cm-gutters": { backgroundColor: "var(--surface)", color: "var(--text-3)", border: "none" },
      ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--hover)" },
      ".cm-cursor": { borderLeftColor: "var(--text)" },
      "&.cm-focused .cm-selectionBackground, .cm-selectionBackground": {
        backgroundColor: "var(--selected) !important",
      },
      ".cm-specialChar": { color: "var(--bad)" },
      ".cm-panels, .cm-tooltip": {
        backgroundColor: "var(--raised)",
        color: "var(--text)",
        borderColor: "var(--border)",
      },
      ".cm-changedLine, .cm-insertedLine": { backgroundColor: "var(--good-bg) !important" },
      // A darker background would leave too little contrast to the colours of JSON.
      ".cm-changedText": { background: "none !important", boxShadow: "inset 0 -2px var(--good-dot)" },
      ".cm-deletedChunk": { backgroundColor: "var(--bad-bg) !important" },
      ".cm-deletedChunk .cm-deletedText": {
        background: "none !important",
        boxShadow: "inset 0 -2px var(--bad-dot)",
      },
    },
    { dark },
  );

const colours = syntaxHighlighting(
  HighlightStyle.define([
    { tag: [t.propertyName, t.tagName, t.attributeName], color: "var(--c1)" },
    { tag: [t.string, t.attributeValue], color: "var(--good)" },
    { tag: [t.number, t.bool, t.null, t.atom], color: "var(--c2)" },
    { tag: [t.comment, t.meta], color: "var(--text-3)" },
    { tag: [t.keyword], color: "var(--c4)" },
  ]),
);

// XML and YAML have no linter of their own: where the parser met what it cannot read is a fault.
const syntaxLinter = (view: EditorView): Diagnostic[] => {
  let found: Diagnostic[] = [];
  syntaxTree(view.state).iterate({
    enter: (n) => {
      if (n.type.isError && found.length === 0) {
        found = [
          {
            from: n.from,
            to: Math.min(n.to + 1, view.state.doc.length),
            severity: "error",
            message: "This cannot be read",
          },
        ];
      }
    },
  });
  return found;
};

function rootOf(host: HTMLElement): ShadowRoot {
  const root = host.shadowRoot ?? host.attachShadow({ mode: "open" });
  root.replaceChildren();
  return root;
}

// Line ends stay as they are: sliceDoc joins lines by them.
const lineEnds = (text: string) => EditorState.lineSeparator.of(text.includes("\r\n") ? "\r\n" : "\n");

const shared = (format: Format, dark: boolean): Extension[] => [
  lineNumbers(),
  highlightSpecialChars(),
  drawSelection(),
  bracketMatching(),
  EditorView.lineWrapping,
  languages[format]?.() ?? [],
  colours,
  look(dark),
];

export interface Edited {
  set(text: string): void;
  destroy(): void;
}

export function edit(
  host: HTMLElement,
  o: {
    text: string;
    format: Format;
    label: string;
    dark: boolean;
    changed: (text: string) => void;
    wrong: (why: string) => void;
    save: () => void;
  },
): Edited {
  const root = rootOf(host);
  const check = linter(
    (view) => {
      const source = o.format === "json" ? jsonParseLinter() : o.format === "text" ? () => [] : syntaxLinter;
      const found = view.state.doc.length === 0 ? [] : source(view);
      const first = found[0];
      o.wrong(first ? `Line ${view.state.doc.lineAt(first.from).number}: ${first.message}` : "");
      return found;
    },
    { delay: 200 },
  );
  const view = new EditorView({
    root,
    parent: root as unknown as HTMLElement,
    state: EditorState.create({
      doc: o.text,
      extensions: [
        lineEnds(o.text),
        ...shared(o.format, o.dark),
        history(),
        indentOnInput(),
        foldGutter(),
        highlightActiveLine(),
        highlightSelectionMatches(),
        lintGutter(),
        check,
        EditorView.contentAttributes.of({ "aria-label": o.label }),
        keymap.of([
          { key: "Mod-s", run: () => (o.save(), true) },
          { key: "Mod-Enter", run: () => (o.save(), true) },
          { key: "Escape", run: (v) => (v.contentDOM.blur(), true) },
          ...defaultKeymap,
          ...historyKeymap,
          ...searchKeymap,
          indentWithTab,
        ]),
        EditorView.updateListener.of((u) => u.docChanged && o.changed(u.state.sliceDoc())),
      ],
    }),
  });
  view.focus();
  return {
    set(text) {
      if (text !== view.state.sliceDoc())
        // A string would be split at the separator of this document only.
        view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: Text.of(text.split(/\r?\n/)) } });
    },
    destroy: () => view.destroy(),
  };
}

export function difference(
  host: HTMLElement,
  o: {
    before: string;
    after: string;
    format: Format;
    label: string;
    dark: boolean;
  },
): { destroy(): void } {
  const root = rootOf(host);
  const view = new EditorView({
    root,
    parent: root as unknown as HTMLElement,
    state: EditorState.create({
      doc: o.after,
      extensions: [
        lineEnds(o.after),
        ...shared(o.format, o.dark),
        EditorState.readOnly.of(true),
        EditorView.editable.of(false),
        EditorView.contentAttributes.of({ "aria-label": o.label, tabindex: "0" }),
        unifiedMergeView({
          original: o.before,
          mergeControls: false,
          gutter: true,
          collapseUnchanged: { margin: 3, minSize: 6 },
        }),
      ],
    }),
  });
  return { destroy: () => view.destroy() };
}
