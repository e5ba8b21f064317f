// Values in the browser's database. Keys in it cannot be read out of the browser.
export interface Vault {
  get<T>(key: string): Promise<T | undefined>;
  put(key: string, value: unknown): Promise<void>;
  remove(key: string): Promise<void>;
}

/** Opens a database with one store. Some browsers refuse it: in a private window, or in Lockdown Mode. */
export function vault(database: string, store: string): Vault {
  const open = (): Promise<IDBDatabase> =>
    new Promise((done, failed) => {
      const request = indexedDB.open(database, 1);
      request.onupgradeneeded = () => request.result.createObjectStore(store);
      request.onsuccess = () => done(request.result);
      request.onerror = () => failed(request.error);
    });
  const run = async <T>(mode: IDBTransactionMode, act: (s: IDBObjectStore) => IDBRequest<T>): Promise<T> => {
    const db = await open();
    return new Promise((done, failed) => {
      const t = db.transaction(store, mode);
      const request = act(t.objectStore(store));
      t.oncomplete = () => (db.close(), done(request.result));
      t.onerror = t.onabort = () => (db.close(), failed(t.error));
    });
  };
  return {
    get: (key) => run("readonly", (s) => s.get(key)),
    put: async (key, value) => void (await run("readwrite", (s) => s.put(value, key))),
    remove: async (key) => void (await run("readwrite", (s) => s.delete(key))),
  };
}
