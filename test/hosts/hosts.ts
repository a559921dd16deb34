import { CLIENTS_FOR_NODE } from './install/node.ts';
import type { Host } from './row.ts';

/** The rows of the matrix, in the order of the table. */
export const HOSTS: readonly Host[] = [...CLIENTS_FOR_NODE];
