import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import express from 'express';
import { packagePath } from '../../../../../apps/shared/config/files.ts';
import { type HttpServer, listen } from '../../../../../apps/shared/http/listen.ts';
import { assetsRouter } from '../../../../../apps/shared/pages/assets.ts';
import { systemTime } from '../../../../support/time.ts';

const PARTS = packagePath('apps', 'shared', 'pages', 'style');

let site: HttpServer;
beforeAll(async () => {
  site = await listen(express().use(assetsRouter()), { ...systemTime, host: '127.0.0.1', port: 0 });
});
afterAll(() => site.close());

describe('the style sheet of all pages', () => {
  it('contains every part, once', async () => {
    const response = await fetch(`${site.url}/assets/style.css`);
    const sheet = await response.text();
    expect(response.headers.get('content-type')).toBe('text/css; charset=utf-8');
    const parts = readdirSync(PARTS).map((name) => readFileSync(`${PARTS}/${name}`, 'utf8'));
    expect(parts.filter((part) => sheet.split(part).length !== 2)).toEqual([]);
    const rest = parts.reduce((left, part) => left.replace(part, () => ''), sheet);
    expect(rest.trim().replaceAll(/\.line\.d(\d+) \{ --depth: \1; \}\n?/g, '')).toBe('');
  });

  it('gives every field of every page the same form', () => {
    const pages = readdirSync(packagePath('apps'), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.tsx'))
      .map((name) => readFileSync(packagePath('apps', name), 'utf8'));
    const types = pages.flatMap((page) =>
      [...page.matchAll(/<input\b[^>]*>/g)].map(([field]) => /\btype="(\w+)"/.exec(field)?.[1] ?? 'no type'),
    );
    const controls = readFileSync(`${PARTS}/controls.css`, 'utf8');
    const styled = [...controls.matchAll(/input\[type='(\w+)'\]/g)].map(([, type]) => type);
    expect(types).toContain('date');
    expect(types.filter((type) => type !== 'hidden' && !styled.includes(type))).toEqual([]);
  });
});
