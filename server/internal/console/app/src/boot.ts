// What comes before the application: the choices of prefs.ts on which the first paint depends, and that paint. It is no
// module, so it runs before the page is shown.
{
  const kept = (name: string) => {
    try {
      return JSON.parse(localStorage.getItem("warren." + name) ?? "null");
    } catch {
      return null; // not ours, or not allowed
    }
  };
  const chosen = kept("theme");
  const dark = chosen === "dark" || (chosen !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  const { dataset } = document.documentElement;
  dataset.theme = dark ? "dark" : "light";
  dataset.density = kept("density") ?? "comfortable";
  const upTo = (width: number) => matchMedia(`(max-width: ${width}px)`).matches;
  dataset.narrow = String(!upTo(860) && (kept("rail") ?? upTo(1100)));

  // The application is fetched already. It would keep its own frame from being painted if it began at once.
  const { href } = document.querySelector<HTMLLinkElement>("link[rel=modulepreload]")!;
  let begun = false;
  const begin = () => {
    if (!begun) void import(href);
    begun = true;
  };
  requestAnimationFrame(() => setTimeout(begin));
  setTimeout(begin, 500); // of a tab that nobody sees, no frame is painted
}
