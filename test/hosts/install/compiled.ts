import { copyFileSync, cpSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { packagePath } from '../../../apps/shared/config/files.ts';
import { installOnce, runInstaller } from '../../support/foreign.ts';
import type { Driver, Installing } from '../row.ts';
import { demand, digestOf, DRIVERS } from './programs.ts';

const copyDrivers = (drivers: readonly string[], folder: string) => {
  for (const driver of drivers) cpSync(packagePath(...DRIVERS, driver), join(folder, driver));
};

/** Compiles the driver in Go with the modules of `test/foreign/hosts-go`. */
export async function installGo({ say }: Installing): Promise<Driver> {
  await demand('go', ['version'], 'install Go 1.25 or newer (Debian: apt-get install golang-go)');
  const drivers = ['common.go', 'go-sdk.go'];
  const folder = await installOnce({
    name: 'hosts-go',
    lock: 'go.sum',
    also: digestOf(drivers),
    say,
    install: async (fresh) => {
      copyDrivers(drivers, fresh);
      await runInstaller('go', ['build', '-o', 'driver', '.'], fresh);
    },
  });
  return { command: join(folder, 'driver'), args: [] };
}

/** Compiles the driver in Rust with the crates of `test/foreign/hosts-rust`. What the compiler keeps has hundreds of megabytes, and goes. */
export async function installRust({ say }: Installing): Promise<Driver> {
  await demand('cargo', ['--version'], 'install Rust 1.88 or newer (https://rustup.rs)');
  const drivers = ['common.rs', 'rust-sdk.rs'];
  const folder = await installOnce({
    name: 'hosts-rust',
    lock: 'Cargo.lock',
    also: digestOf(drivers),
    say,
    install: async (fresh) => {
      copyDrivers(drivers, fresh);
      await runInstaller('cargo', ['build', '--quiet', '--locked', '--target-dir', 'target'], fresh);
      copyFileSync(join(fresh, 'target', 'debug', 'hosts-rust'), join(fresh, 'driver'));
      rmSync(join(fresh, 'target'), { recursive: true });
    },
  });
  return { command: join(folder, 'driver'), args: [] };
}

/** Starts the driver in Java with the artefacts of `test/foreign/hosts-java`. Java compiles it at each start. */
export async function installJava({ say }: Installing): Promise<Driver> {
  await demand('java', ['-version'], 'install Java 17 or newer (Debian: apt-get install openjdk-17-jdk-headless)');
  const folder = await installOnce({
    name: 'hosts-java',
    lock: 'pom.xml',
    say,
    install: async (fresh) => {
      await demand('mvn', ['-version'], 'install Apache Maven (Debian: apt-get install maven)');
      mkdirSync(join(fresh, 'lib'));
      const copy = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies';
      await runInstaller('mvn', ['--quiet', '--batch-mode', copy, '-DoutputDirectory=lib'], fresh);
    },
  });
  return { command: 'java', args: ['-cp', join(folder, 'lib', '*'), packagePath(...DRIVERS, 'JavaSdk.java')] };
}
