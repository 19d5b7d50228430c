// Scripts of the console: what cannot be fetched, and moving by keys. Pages work without it.
"use strict";

// A part of the page that cannot be fetched stays as it is: the page says so until the next part comes.
document.addEventListener("htmx:afterRequest", (event) => {
  const unanswered = document.getElementById("unanswered");
  const status = event.detail.xhr.status;
  if (event.detail.successful) {
    unanswered.hidden = true;
  } else if (unanswered.hidden) {
    const at = new Date().toISOString().slice(11, 19);
    unanswered.textContent = status === 0
      ? `The server does not answer since ${at} UTC. What is shown is older than that.`
      : `The server refuses to show more since ${at} UTC, with status ${status}. Load the page again to see why.`;
    unanswered.hidden = false;
  }
});

// move sets the focus to the link before or after the present one in the list of children.
function move(step) {
  const links = Array.from(document.querySelectorAll(".children a")).filter((a) => a.offsetParent !== null);
  const at = links.indexOf(document.activeElement);
  const next = links[at < 0 ? 0 : Math.min(links.length - 1, Math.max(0, at + step))];
  if (next) {
    next.focus();
  }
}

document.addEventListener("keydown", (event) => {
  const into = event.target.closest("input, textarea, select");
  if (into || event.ctrlKey || event.altKey || event.metaKey) {
    return;
  }
  const details = event.target.closest && event.target.closest(".children details");
  const up = Array.from(document.querySelectorAll(".crumbs a")).pop();
  if (event.key === "j" || event.key === "ArrowDown" && details) {
    move(1);
  } else if (event.key === "k" || event.key === "ArrowUp" && details) {
    move(-1);
  } else if (event.key === "ArrowRight" && details) {
    details.open = true;
  } else if (event.key === "ArrowLeft" && details) {
    details.open = false;
  } else if (event.key === "u" && up) {
    up.click();
  } else if (event.key === "/") {
    location.href = "./#/search";
  } else {
    return;
  }
  event.preventDefault();
});
