import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { packagePath } from '../../apps/shared/config/files.ts';
import { launchBrowser } from '../support/chromium.ts';
import { onFreePorts } from '../support/config.ts';
import { DocumentServer } from '../support/document-server.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { Person } from './person.ts';
import { Tap } from './tap.ts';

/**
 * How long a held call waits here, in seconds, for each client: longer than a busy machine needs to approve and run a call, and shorter
 * than any client but one waits by itself.
 */
export const WAIT_SECONDS = 15;

/** What all rows share. */
export interface Scene {
  readonly stack: Stack;
  readonly tap: Tap;
  readonly documents: DocumentServer;
  readonly person: Person;
  /** An empty folder, for homes of clients. */
  readonly folder: string;
  readonly stop: () => Promise<void>;
}

/**
 * Starts the whole product behind a reverse proxy, the server of the clients' documents, and a browser.
 *
 * @param metadataDocuments Whether the issuer reads documents about clients.
 */
export async function openScene(metadataDocuments: boolean): Promise<Scene> {
  const closing: (() => unknown)[] = [];
  const stop = async () => {
    for (const close of closing.splice(0).reverse()) await close();
  };
  const opened = <T extends { stop(): unknown }>(one: T): T => {
    closing.push(() => one.stop());
    return one;
  };
  try {
    const folder = mkdtempSync(join(tmpdir(), 'countersign-hosts-'));
    closing.push(() => rmSync(folder, { recursive: true, force: true }));
    const documents = opened(await new DocumentServer().start());
    const tap = opened(await new Tap().start());
    const ports = await onFreePorts();
    tap.target = ports.gateway.port;
    const stack = opened(
      await startStack({
        parts: 'together',
        config: {
          ...ports,
          gateway: { ...ports.gateway, url: tap.url, waitSeconds: WAIT_SECONDS },
          identity: { ...ports.identity, hosts: { metadataDocuments, documentNetworks: ['127.0.0.0/8'] } },
        },
        environments: { up: { NODE_EXTRA_CA_CERTS: packagePath('test', 'fixtures', 'tls', 'ca.pem') } },
      }),
    );
    const browser: Browser = await launchBrowser();
    closing.push(() => browser.close());
    const person = opened(await new Person(browser).start());
    return { stack, tap, documents, person, folder, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
