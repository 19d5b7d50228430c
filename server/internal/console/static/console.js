// Scripts of the console: the stream of changes, what cannot be fetched, and moving by keys. Pages work without it.
"use strict";

// follow shows the changes of the stream that the element names, newest first, in the table within it.
function follow(log) {
  const rowsMax = 500;
  const body = log.querySelector("tbody");
  const status = document.getElementById("streaming");
  const pause = document.getElementById("pause");
  let paused = false;
  pause.hidden = false;
  pause.addEventListener("click", () => {
    paused = !paused;
    pause.setAttribute("aria-pressed", String(paused));
    pause.textContent = paused ? "Go on" : "Pause";
  });
  const source = new EventSource(log.dataset.stream);
  status.textContent = "Connecting.";
  source.addEventListener("ready", () => { status.textContent = "Following. What happens from now on is shown."; });
  source.addEventListener("end", (event) => {
    status.textContent = "Ended: " + JSON.parse(event.data).reason + ". Connecting again.";
  });
  source.addEventListener("error", () => {
    status.textContent = source.readyState === EventSource.CLOSED
      ? "The server refuses to tell these changes." : "Connecting again.";
  });
  source.addEventListener("change", (event) => {
    if (paused) {
      return;
    }
    const change = JSON.parse(event.data);
    const row = body.insertRow(0);
    row.className = change.type;
    row.insertCell().textContent = new Date(change.at).toISOString().slice(11, 23);
    row.insertCell().textContent = change.type;
    const link = document.createElement("a");
    link.href = "tree?path=" + encodeURIComponent(change.path);
    link.textContent = change.path; // never as HTML: a client has chosen it
    row.insertCell().append(link);
    row.insertCell().textContent = change.zxid;
    while (body.rows.length > rowsMax) {
      body.deleteRow(-1);
    }
  });
}

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
    location.href = "search";
  } else {
    return;
  }
  event.preventDefault();
});

const log = document.querySelector("#log[data-stream]");
if (log) {
  follow(log);
}
