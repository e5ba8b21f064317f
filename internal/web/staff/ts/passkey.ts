// A form that the browser's passkeys fill in: the service sends options, the browser asks the person, and the form carries the answer.
import { within } from "../../kit/ts/page";

const beginSeconds = 10;

function bytes(text: string): ArrayBuffer {
  const raw = atob(text.replace(/-/g, "+").replace(/_/g, "/"));
  return Uint8Array.from(raw, (c) => c.charCodeAt(0)).buffer;
}

function text(buffer: ArrayBuffer | null): string | undefined {
  if (!buffer) return undefined;
  return btoa(String.fromCharCode(...new Uint8Array(buffer))).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
}

type Listed = { id: string; type: "public-key"; transports?: AuthenticatorTransport[] };
const listed = (all?: Listed[]) => all?.map((one) => ({ ...one, id: bytes(one.id) }));

/** Makes a passkey, or uses one, and returns the credential as JSON. */
async function ceremony(create: boolean, o: any): Promise<string> {
  const challenge = bytes(o.challenge);
  const made = create
    ? await navigator.credentials.create({ publicKey: { ...o, challenge, user: { ...o.user, id: bytes(o.user.id) }, excludeCredentials: listed(o.excludeCredentials) } })
    : await navigator.credentials.get({ publicKey: { ...o, challenge, allowCredentials: listed(o.allowCredentials) } });
  const key = made as PublicKeyCredential;
  const answer = key.response as AuthenticatorAttestationResponse & AuthenticatorAssertionResponse;
  const response = create
    ? { clientDataJSON: text(answer.clientDataJSON), attestationObject: text(answer.attestationObject), transports: answer.getTransports?.() ?? [] }
    : { clientDataJSON: text(answer.clientDataJSON), authenticatorData: text(answer.authenticatorData), signature: text(answer.signature), userHandle: text(answer.userHandle) };
  return JSON.stringify({ id: key.id, rawId: text(key.rawId), type: key.type, response, clientExtensionResults: {}, authenticatorAttachment: key.authenticatorAttachment ?? undefined });
}

/** Reports an address of the browser to which no passkey of the service belongs. */
const isElsewhere = (e: unknown) => e instanceof DOMException && e.name === "SecurityError";

async function send(form: HTMLFormElement): Promise<void> {
  const say = (name: string) => {
    for (const p of form.querySelectorAll<HTMLElement>("[data-say]")) p.hidden = p.dataset.say !== name;
  };
  say("");
  try {
    const begun = await fetch(form.dataset.begin!, { method: "POST", headers: { "Latchkey-Script": "1" }, credentials: "same-origin", signal: within(beginSeconds) });
    const next = begun.headers.get("Latchkey-Location");
    if (next) return location.assign(next);
    if (begun.status === 409) return say("unavailable");
    if (!begun.ok) return say("failed");
    form.querySelector<HTMLInputElement>("[name=credential]")!.value = await ceremony(form.dataset.passkey === "create", await begun.json());
    form.submit();
  } catch (e) {
    say(isElsewhere(e) ? "unavailable" : "failed");
  }
}

export function passkeys(): void {
  if (!("PublicKeyCredential" in window)) return;
  for (const form of document.querySelectorAll<HTMLFormElement>("form[data-passkey]")) {
    let busy = false;
    form.hidden = false;
    form.addEventListener("submit", async (e) => {
      e.preventDefault();
      e.stopPropagation(); // the form is sent once the browser has answered
      if (busy) return;
      busy = true;
      await send(form);
      busy = false;
    });
  }
}
