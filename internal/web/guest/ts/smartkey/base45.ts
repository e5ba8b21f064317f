// Base45 of RFC 9285: bytes in the characters of a QR code in alphanumeric mode.
const characters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ $%*+-./:";

export function base45(bytes: Uint8Array): string {
  let out = "";
  for (let i = 0; i < bytes.length; i += 2) {
    const pair = i + 1 < bytes.length;
    const n = pair ? bytes[i] * 256 + bytes[i + 1] : bytes[i];
    out += characters[n % 45] + characters[Math.floor(n / 45) % 45] + (pair ? characters[Math.floor(n / 2025)] : "");
  }
  return out;
}
