// The tablet forgets a guest who has left.
const idleSeconds = 90;
const stillSeconds = 20;
const codeSeconds = 30;

let left = idleSeconds;
let asked = false;
let paused = false;

const still = () => document.getElementById("still") as HTMLDialogElement | null;

export function pause(on: boolean): void {
  paused = on;
  if (!on) touch();
}

/** Restarts the time of the page. */
export function touch(): void {
  const kind = document.body.dataset.idle;
  left = kind === "code" ? codeSeconds : idleSeconds;
  asked = false;
  still()?.close();
}

function write(): void {
  for (const e of document.querySelectorAll("[data-left]")) e.textContent = String(left);
}

export function timers(end: () => void): void {
  touch();
  write();
  // The time of the code is counted from when it is shown; a touch does not lengthen it, "More time" does.
  for (const event of ["pointerdown", "keydown"]) {
    addEventListener(event, () => document.body.dataset.idle !== "code" && !asked && touch(), { passive: true });
  }
  document.addEventListener("click", (e) => {
    if ((e.target as Element).closest("[data-stay], [data-more]")) touch();
  });
  still()?.addEventListener("cancel", () => touch());
  setInterval(() => {
    if (paused || document.hidden) return;
    const kind = document.body.dataset.idle;
    if (kind !== "guest" && kind !== "code") return;
    left--;
    if (left <= 0 && (kind === "code" || asked)) return end();
    if (left <= 0) {
      asked = true;
      left = stillSeconds;
      still()?.showModal();
    }
    write();
  }, 1000);
}
