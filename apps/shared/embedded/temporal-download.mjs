// Run in a process of its own: lets the Temporal SDK download the official CLI into the folder named by the argument.
// The SDK downloads only on the way to starting a server, and cannot be told to stop; a process can.
import process from 'node:process';
import { TestWorkflowEnvironment } from '@temporalio/testing';

const executable = { type: 'cached-download', downloadDir: process.argv[2], ttl: '10 years' };
const environment = await TestWorkflowEnvironment.createLocal({ server: { executable } });
await environment.teardown();
