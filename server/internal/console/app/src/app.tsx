// The console's application: a frame, and one page in it.
import { render } from "preact";
import { TriangleAlert } from "lucide";
import "./style.css";
import { whoami } from "./api";
import { Audit } from "./audit";
import { Backups } from "./backups";
import { Ensembles } from "./ensembles";
import { keepFresh } from "./facts";
import { Configuration } from "./configuration";
import { Frame } from "./frame";
import { Live } from "./live";
import { Sizes, Slow, Top } from "./load";
import { Overview } from "./overview";
import { Empty } from "./parts";
import { Compare, TimeTravel } from "./past";
import { Recipe } from "./recipe";
import { Recipes } from "./recipes";
import { page } from "./router";
import { Search } from "./search";
import { Servers } from "./servers";
import { Session } from "./session";
import { Sessions } from "./sessions";
import { Tree } from "./tree";
import "./prefs";

function Missing() {
  return (
    <div class="page">
      <header>
        <h1>No such page</h1>
      </header>
      <Empty icon={TriangleAlert} title="Nothing is here">
        <a href="#/">Back to the overview</a>
      </Empty>
    </div>
  );
}

const views: Record<string, () => any> = {
  overview: Overview,
  tree: Tree,
  search: Search,
  live: Live,
  sessions: Sessions,
  session: Session,
  recipes: Recipes,
  recipe: Recipe,
  top: Top,
  slow: Slow,
  sizes: Sizes,
  past: TimeTravel,
  difference: Compare,
  ensembles: Ensembles,
  servers: Servers,
  configuration: Configuration,
  audit: Audit,
  backups: Backups,
};

function App() {
  const View = views[page.value] ?? Missing;
  return (
    <Frame>
      <View key={page.value} />
    </Frame>
  );
}

void whoami().catch(() => {});
keepFresh();
const root = document.getElementById("app")!;
root.replaceChildren(); // what was shown until now
render(<App />, root);
