import { doors } from "./doors";
import "./drawn";
import { feed } from "./feed";
import { greeted } from "./greeted";
import { live } from "../../kit/ts/live";
import { offline } from "./offline";
import { passOn } from "./passon";
import { focusFirst } from "../../kit/ts/page";

focusFirst();
live((url) => location.assign(url), () => location.reload());

// A second press of the same button sends nothing: the first is on its way.
document.addEventListener("submit", (e) => {
  const form = e.target as HTMLFormElement;
  if (form.dataset.sent) return e.preventDefault();
  form.dataset.sent = "1";
  e.submitter?.setAttribute("aria-disabled", "true");
});
// The page comes back from the browser's memory with its buttons usable.
addEventListener("pageshow", () => {
  for (const form of document.querySelectorAll<HTMLFormElement>("form[data-sent]")) delete form.dataset.sent;
  for (const b of document.querySelectorAll("[aria-disabled]")) b.removeAttribute("aria-disabled");
});

feed();
passOn();
void doors();
void greeted();
void offline().catch(() => {}); // a browser that keeps nothing still shows the pages
