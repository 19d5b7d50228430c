// The console's application: a frame, and one page in it.
import { render } from "preact";
import { TriangleAlert } from "lucide";
import "./style.css";
import { whoami } from "./api";
import { keepFresh } from "./facts";
import { Frame } from "./frame";
import { Overview } from "./overview";
import { Empty } from "./parts";
import { page } from "./router";
import { Tree } from "./tree";
import "./prefs";

function Missing() {
  return <div class="page"><Empty icon={TriangleAlert} title="No such page"><a href="#/">Back to the overview</a></Empty></div>;
}

const views: Record<string, () => any> = { overview: Overview, tree: Tree };

function App() {
  const View = views[page.value] ?? Missing;
  return <Frame><View key={page.value} /></Frame>;
}

void whoami().catch(() => {});
keepFresh();
render(<App />, document.getElementById("app")!);
