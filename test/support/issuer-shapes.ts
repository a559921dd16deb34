/** Access tokens and metadata in the shapes of four identity products, signed here. Only Keycloak itself is tried: `test/issuers`. */
import express from 'express';
import { exportJWK, generateKeyPair, SignJWT, type JWTPayload } from 'jose';
import type { Product } from '../../apps/cli/commands/doctor/products.ts';
import { parseConfig, type Config } from '../../apps/shared/config/config.ts';
import type { HttpServer } from '../../apps/shared/http/listen.ts';
import { serve } from './serve.ts';
import { PATIENT_FACTOR } from './time.ts';

const GATEWAY = 'https://gateway.example.com';
export const MCP = `${GATEWAY}/mcp`;

export const TENANT = '10000000-0000-4000-8000-000000000001';
export const API = '20000000-0000-4000-8000-000000000002';
const HOST_APP = '20000000-0000-4000-8000-000000000003';
const AGENT_APP = '0b5f2ab2-29f1-4e64-8f0c-9d8a7a3df2ad';

/** A claim that is `undefined` is left out. */
export type Claims = Readonly<Record<string, unknown>>;

interface Shape {
  /** Of the issuer, below the server. */
  readonly path: string;
  /** Of the token endpoint, below the server. */
  readonly tokenPath: string;
  readonly settings: Readonly<Record<string, object>>;
  readonly header: { readonly typ?: string };
  /** A person with the role `approver`, through a host. */
  readonly person: Claims;
  /** An agent by client credentials, with the role `agent`. */
  readonly program: Claims;
  /** The ID token of the same person at the inbox. */
  readonly signIn: Claims;
  readonly client: { readonly ofPerson: string; readonly ofProgram: string };
}

/** `${url}` in a claim stands for the address of the server. */
export const SHAPES: Readonly<Record<Product, Shape>> = {
  Keycloak: {
    path: '/realms/countersign',
    tokenPath: '/realms/countersign/protocol/openid-connect/token',
    settings: { identity: { rolesClaim: 'realm_access.roles' } },
    header: { typ: 'JWT' },
    person: {
      jti: 'jti:4d1c5d21-7d6c-4f3b-8f6a-3d9a1f1f9a11',
      aud: [MCP, 'account'],
      sub: 'f1f0c2b5-95a5-4d0a-8d3f-4ff25d3a5f2c',
      typ: 'Bearer',
      azp: 'countersign-host',
      sid: 'c9c2a8a5-6d8e-4df5-8a56-6f1a0f7f6a39',
      acr: '1',
      realm_access: { roles: ['offline_access', 'approver', 'default-roles-countersign'] },
      resource_access: { account: { roles: ['manage-account', 'view-profile'] } },
      scope: 'profile mcp',
      preferred_username: 'alice',
    },
    program: {
      jti: 'jti:0e3c5d21-7d6c-4f3b-8f6a-3d9a1f1f9a12',
      aud: MCP,
      sub: '0a7ac1bd-9cb5-4a3a-b0f4-2b3f4d1c0d55',
      typ: 'Bearer',
      azp: 'agent',
      acr: '1',
      realm_access: { roles: ['agent'] },
      scope: 'mcp',
      clientHost: '127.0.0.1',
      preferred_username: 'service-account-agent',
      client_id: 'agent',
    },
    signIn: { aud: 'countersign-web', azp: 'countersign-web', typ: 'ID', sub: 'f1f0c2b5-95a5-4d0a-8d3f-4ff25d3a5f2c' },
    client: { ofPerson: 'countersign-host', ofProgram: 'agent' },
  },
  'Entra ID': {
    path: `/${TENANT}/v2.0`,
    tokenPath: `/${TENANT}/oauth2/v2.0/token`,
    settings: { gateway: { audience: API } },
    header: { typ: 'JWT' },
    person: {
      aud: API,
      azp: HOST_APP,
      azpacr: '0',
      name: 'Alice Approver',
      oid: '30000000-0000-4000-8000-000000000004',
      preferred_username: 'alice@example.com',
      roles: ['approver'],
      scp: 'mcp',
      sub: 'pairwise-for-the-api-0000000000000000000000',
      tid: TENANT,
      uti: '0000000000000000000000',
      ver: '2.0',
    },
    program: {
      aud: API,
      azp: AGENT_APP,
      azpacr: '1',
      idtyp: 'app',
      oid: '2f1b9f3e-7a3c-4b5c-9d55-21f2a0f6f6f6',
      roles: ['agent'],
      sub: '2f1b9f3e-7a3c-4b5c-9d55-21f2a0f6f6f6',
      tid: TENANT,
      ver: '2.0',
    },
    signIn: {
      aud: 'f5a1ee11-2d4e-4f0a-9f55-1b2c3d4e5f60',
      oid: '30000000-0000-4000-8000-000000000004',
      sub: 'pairwise-for-the-pages-00000000000000000000',
      tid: TENANT,
      roles: ['approver'],
      ver: '2.0',
    },
    client: { ofPerson: HOST_APP, ofProgram: AGENT_APP },
  },
  Okta: {
    path: '/oauth2/aus0000000000000000',
    tokenPath: '/oauth2/aus0000000000000000/v1/token',
    settings: {},
    header: {},
    person: {
      ver: 1,
      jti: 'AT.0000000000000000000000000000000000000000001',
      aud: MCP,
      sub: 'alice@example.com',
      cid: '0oa00000000000host00',
      uid: '00u00000000000alice0',
      scp: ['mcp', 'offline_access'],
      auth_time: 1_467_142_021,
      roles: ['approver'],
    },
    program: {
      ver: 1,
      jti: 'AT.0000000000000000000000000000000000000000002',
      aud: MCP,
      sub: '0oa0000000000agent00',
      cid: '0oa0000000000agent00',
      scp: ['mcp'],
      roles: ['agent'],
    },
    signIn: {
      ver: 1,
      aud: '0oa0000000000pages00',
      sub: '00u00000000000alice0',
      preferred_username: 'alice@example.com',
    },
    client: { ofPerson: '0oa00000000000host00', ofProgram: '0oa0000000000agent00' },
  },
  Auth0: {
    path: '/',
    tokenPath: '/oauth/token',
    settings: { identity: { rolesClaim: 'https://countersign.example.com/roles' } },
    header: { typ: 'JWT' },
    person: {
      aud: [MCP, '${url}/userinfo'],
      sub: 'auth0|650000000000000000000001',
      azp: 'host0000000000000000000000000000',
      scope: 'openid profile mcp offline_access',
      'https://countersign.example.com/roles': ['approver'],
    },
    program: {
      aud: MCP,
      sub: 'agent000000000000000000000000000@clients',
      azp: 'agent000000000000000000000000000',
      gty: 'client-credentials',
      scope: 'mcp',
      'https://countersign.example.com/roles': ['agent'],
    },
    signIn: { aud: 'pages000000000000000000000000000', sub: 'auth0|650000000000000000000001' },
    client: { ofPerson: 'host0000000000000000000000000000', ofProgram: 'agent000000000000000000000000000' },
  },
};

export const PRODUCTS = Object.keys(SHAPES) as Product[];

/** Serves the metadata and the key of all four, as different issuers on one port. */
export class ShapedIssuers {
  #server!: HttpServer;
  #signing!: Awaited<ReturnType<typeof generateKeyPair>>;
  /** Members that the metadata have besides the usual ones; `undefined` leaves one out. */
  metadata: Record<string, unknown> = {};
  /** Replaces the key set. */
  keys: readonly object[] | undefined;

  async start(): Promise<void> {
    this.#signing = await generateKeyPair('ES256');
    const jwk = { ...(await exportJWK(this.#signing.publicKey)), kid: 'one', alg: 'ES256', use: 'sig' };
    const app = express().get('/jwks', (_request, response) => void response.json({ keys: this.keys ?? [jwk] }));
    for (const product of PRODUCTS) {
      const below = SHAPES[product].path.replace(/\/$/, '');
      app.get(`${below}/.well-known/openid-configuration`, (_request, response) => {
        response.json({
          issuer: this.issuerOf(product),
          jwks_uri: `${this.#server.url}/jwks`,
          token_endpoint: `${this.#server.url}${SHAPES[product].tokenPath}`,
          ...this.metadata,
        });
      });
    }
    this.#server = await serve(app);
  }

  stop(): Promise<void> {
    return this.#server.close();
  }

  issuerOf(product: Product): string {
    return `${this.#server.url}${SHAPES[product].path}`;
  }

  /** As an operator configures the product, with these settings on top. */
  configFor(product: Product, more: Record<string, object> = {}): Config {
    const { settings } = SHAPES[product];
    const section = (name: string, own: object) => ({ ...own, ...settings[name], ...more[name] });
    const raw = {
      ...{ timeLimitFactor: PATIENT_FACTOR, ...more },
      gateway: section('gateway', { url: GATEWAY }),
      identity: section('identity', { issuer: this.issuerOf(product) }),
    };
    return parseConfig(raw, { baseDir: '/', stateDir: '/' });
  }

  /** A token of the product with these claims, valid for an hour. */
  sign(product: Product, claims: Claims, typ = SHAPES[product].header.typ): Promise<string> {
    const iat = Math.floor(Date.now() / 1_000);
    const payload = { iss: this.issuerOf(product), iat, exp: iat + 3_600, ...claims };
    const filled = JSON.parse(JSON.stringify(payload).replaceAll('${url}', this.#server.url)) as JWTPayload;
    const header = { alg: 'ES256', kid: 'one', ...(typ !== undefined && { typ }) };
    return new SignJWT(filled).setProtectedHeader(header).sign(this.#signing.privateKey);
  }
}
