// Has the Temporal SDK download the official CLI into the folder of its argument. The SDK downloads only while it starts a server, and
// cannot be stopped, so it runs in its own process.
import process from 'node:process';
import { TestWorkflowEnvironment } from '@temporalio/testing';

const executable = { type: 'cached-download', downloadDir: process.argv[2], ttl: '10 years' };
const environment = await TestWorkflowEnvironment.createLocal({ server: { executable } });
await environment.teardown();
