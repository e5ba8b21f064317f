import { focusFirst } from "../../kit/ts/page";
import { dragging } from "./drag";
import { keys } from "./keys";
import { follow } from "./live";
import { palette } from "./palette";
import { passkeys } from "./passkey";

focusFirst();
follow();
dragging();
keys(palette());
passkeys();

// The owner of a new property gets the time zone of the device as a suggestion.
for (const input of document.querySelectorAll<HTMLInputElement>("[data-zone]")) {
  input.value ||= Intl.DateTimeFormat().resolvedOptions().timeZone ?? "";
}

// A secret is copied with a press, where the browser allows it.
for (const button of document.querySelectorAll<HTMLButtonElement>("[data-copy]")) {
  const code = button.parentElement!.querySelector("code")!;
  button.hidden = !navigator.clipboard;
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(code.textContent!.trim());
      button.nextElementSibling!.firstElementChild!.toggleAttribute("hidden", false);
    } catch {
      getSelection()?.selectAllChildren(code); // the browser refuses: the person copies what is selected
    }
  });
}

// A shown PIN does not stay on an unattended screen.
for (const part of document.querySelectorAll<HTMLElement>("[data-hide]")) {
  setTimeout(() => part.remove(), 1000 * Number(part.dataset.hide));
}

// A page for paper is printed with a press.
for (const button of document.querySelectorAll<HTMLButtonElement>("[data-print]")) {
  button.hidden = false;
  button.addEventListener("click", () => print());
}

// A second press of the same button sends nothing: the first is on its way.
document.addEventListener("submit", (e) => {
  const form = e.target as HTMLFormElement;
  if ("repeat" in form.dataset || form.method === "dialog") return; // the page stays: the answer may be a file, or a dialog closes
  if (form.dataset.sent) return e.preventDefault();
  form.dataset.sent = "1";
  e.submitter?.setAttribute("aria-disabled", "true");
});
// The page comes back from the browser's memory with its buttons usable.
addEventListener("pageshow", () => {
  for (const form of document.querySelectorAll<HTMLFormElement>("form[data-sent]")) delete form.dataset.sent;
  for (const b of document.querySelectorAll("[aria-disabled]")) b.removeAttribute("aria-disabled");
});
