// Values in the browser's database. Keys in it cannot be read out of the browser.
export interface Vault {
  get<T>(key: string): Promise<T | undefined>;
  put(key: string, value: unknown): Promise<void>;
  remove(key: string): Promise<void>;
  keys(): Promise<string[]>;
}

const answerSeconds = 6; // some versions of Safari get stuck and answer nothing, not even with an error

/** Fails if the browser's database does not answer in time. */
function limited<T>(work: (failed: (why: unknown) => void, done: (value: T) => void) => void): Promise<T> {
  return new Promise((done, failed) => {
    const timer = setTimeout(() => failed(new Error("the browser's database does not answer")), 1000 * answerSeconds);
    work((why) => (clearTimeout(timer), failed(why)), (value) => (clearTimeout(timer), done(value)));
  });
}

/** Opens a database with one store. Some browsers refuse it: in a private window, or in Lockdown Mode. */
export function vault(database: string, store: string): Vault {
  const open = () =>
    limited<IDBDatabase>((failed, done) => {
      const request = indexedDB.open(database, 1);
      request.onupgradeneeded = () => request.result.createObjectStore(store);
      request.onsuccess = () => {
        request.result.onversionchange = () => request.result.close(); // else it would block another page that deletes or changes it
        done(request.result);
      };
      request.onerror = () => failed(request.error);
      request.onblocked = () => failed(new Error("another page keeps the browser's database"));
    });
  const run = async <T>(mode: IDBTransactionMode, act: (s: IDBObjectStore) => IDBRequest<T>): Promise<T> => {
    const db = await open();
    try {
      return await limited<T>((failed, done) => {
        const t = db.transaction(store, mode);
        const request = act(t.objectStore(store));
        t.oncomplete = () => done(request.result);
        t.onerror = t.onabort = () => failed(t.error);
      });
    } finally {
      db.close();
    }
  };
  return {
    get: (key) => run("readonly", (s) => s.get(key)),
    put: async (key, value) => void (await run("readwrite", (s) => s.put(value, key))),
    remove: async (key) => void (await run("readwrite", (s) => s.delete(key))),
    keys: async () => (await run("readonly", (s) => s.getAllKeys())) as string[],
  };
}
